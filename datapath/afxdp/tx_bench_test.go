package afxdp

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// BenchmarkTX: what a frame costs on its way out over a veth in copy mode, by how many
// of them one system call takes, with the other end's program.
func BenchmarkTX(b *testing.B) {
	for _, octets := range []int{128, 1450} {
		for _, budget := range []int{32, 256} {
			b.Run(fmt.Sprintf("%d/%d", octets, budget), func(b *testing.B) { benchTX(b, octets, budget) })
		}
	}
}

func benchTX(b *testing.B, octets, budget int) {
	n := layNet(b, "afxdp-tx", false)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	check(b, err)
	b.Cleanup(func() { check(b, prog.Close()) })
	var l link.Link
	check(b, n.DN.Do(func() (err error) {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: n.N6.Peer.Index, Flags: link.XDPDriverMode})
		return err
	}))
	b.Cleanup(func() { check(b, l.Close()) })
	n.open(b, Config{Mode: Interrupt})
	m := n.upf.machine.Load()
	m.halt()
	w := m.workers[0]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var s *socket
	for _, s = range w.sockets {
		if s.device.name == n.N6.UPF.Device {
			break
		}
	}
	check(b, unix.SetsockoptInt(s.FD, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, budget))
	var before, after unix.Timespec
	check(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before))
	for b.Loop() {
		for range 256 {
			offset, ok := w.umem.Take()
			if !ok {
				check(b, w.reclaim())
				offset, ok = w.umem.Take()
			}
			if !ok {
				b.Fatal("no frame")
			}
			frame := w.umem.Bytes(offset)[256 : 256+octets]
			copy(frame, n.N6.Peer.MAC)
			copy(frame[6:], n.N6.UPF.MAC)
			frame[12], frame[13] = 8, 0
			w.umem.Give(offset, xsk.Sent)
			s.leaving = append(s.leaving, unix.XDPDesc{Addr: offset + 256, Len: uint32(octets)})
		}
		w.flush(s)
		check(b, w.reclaim())
	}
	check(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after))
	b.ReportMetric(float64(after.Nano()-before.Nano())/float64(b.N)/256, "cpu-ns/frame")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/frame")
}
