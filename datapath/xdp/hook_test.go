package xdp

import (
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// verdicts of programs.
type verdicts struct{ pass, drop, redirect uint32 }

var verdictsOf = map[Hook]verdicts{HookXDP: {xdpPass, xdpDrop, xdpRedirect}, HookTC: {tcUnspec, tcShot, tcRedirect}}

const xdpPass, xdpDrop, xdpRedirect = 2, 1, 4
const tcUnspec, tcShot, tcRedirect = 1<<32 - 1, 2, 7

// skbContext is struct __sk_buff, as BPF_PROG_RUN takes it.
type skbContext [192]byte

// Where its fields are.
const skbIngressIfindex, skbGSOSize = 36, 176

// run lets a program treat a frame, as a super-packet if gso is not 0.
func (b *bed) run(t testing.TB, prog *ebpf.Program, frame []byte, gso int) (verdict uint32, out []byte) {
	t.Helper()
	opts := ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+128)}
	if b.cfg.Hook == HookTC {
		var c skbContext
		binary.NativeEndian.PutUint32(c[skbIngressIfindex:], runIndex)
		binary.NativeEndian.PutUint32(c[skbGSOSize:], uint32(gso))
		opts.Context = c
	}
	verdict, err := prog.Run(&opts)
	if err != nil {
		t.Fatal(err)
	}
	return verdict, opts.DataOut
}

// runnable reports whether BPF_PROG_RUN makes an skb of the frame: not if it ends in its
// IP header.
func runnable(frame []byte) bool {
	switch n := len(frame) - inet.LenEthernet; {
	case n < 1:
		return false
	case binary.BigEndian.Uint16(frame[12:]) == 0x0800:
		return n >= 20
	case binary.BigEndian.Uint16(frame[12:]) == 0x86dd:
		return n >= 40
	}
	return true
}

// ofShort is what becomes of a frame that ends in its IP header; n3 says that no bare
// packets come where it did.
func ofShort(n3 bool, frame []byte) datapath.Reason {
	ip := frame[inet.LenEthernet:]
	v6 := binary.BigEndian.Uint16(frame[12:]) == 0x86dd
	switch {
	case n3, len(ip) > 0 && (v6 && ip[0]>>4 == 4 || !v6 && ip[0]>>4 == 6):
		return datapath.PassHost
	case len(ip) > 0 && ip[0]>>4 != 4 && ip[0]>>4 != 6:
		return datapath.DropIPVersion
	}
	return datapath.DropIPShort
}
