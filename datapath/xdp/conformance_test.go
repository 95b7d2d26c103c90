package xdp

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/nexthop"
)

// bed is a driver without devices: its programs are run by BPF_PROG_RUN.
type bed struct {
	*Driver
	sent []byte // what the slow path sent last
}

func openBed(t testing.TB, maxSessions int) *bed {
	t.Helper()
	d, err := load(Config{N3Address: conformance.N3Address, MaxSessions: maxSessions, Log: slog.New(slog.DiscardHandler)}, ports{
		n3: port{index: 1, mac: wideMAC(conformance.N3MAC), mtu: conformance.MTU},
		n6: port{index: 1, mac: wideMAC(conformance.N6MAC), mtu: conformance.MTU},
	})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{Driver: d}
	b.slow = newSlowPath(d, nil)
	b.slow.send = b
	b.slow.local = func(a netip.Addr) bool { return !a.IsGlobalUnicast() }
	b.resolve(t)
	return b
}

func wideMAC(m [6]byte) [8]byte { return [8]byte{m[0], m[1], m[2], m[3], m[4], m[5]} }

// resolve makes the neighbours of the conformance bed known.
func (b *bed) resolve(t testing.TB) {
	t.Helper()
	route := upfN6Route{}
	p4, p6 := conformance.OnlinkPrefix.Addr().As4(), conformance.Onlink6.Addr().As16()
	route.OnlinkIp4, route.MaskIp4 = binary.BigEndian.Uint32(p4[:]), 0xffffff00
	route.OnlinkIp6, route.MaskIp6 = binary.BigEndian.Uint64(p6[:]), ^uint64(0)
	for _, n := range []struct {
		key hopKey
		mac [6]byte
		use func(slot uint32)
	}{
		{hopKey{true, conformance.Gateway}, conformance.GatewayMAC, func(s uint32) { route.GatewayIp4 = s }},
		{hopKey{true, conformance.Gateway6}, conformance.GatewayMAC, func(s uint32) { route.GatewayIp6 = s }},
		{hopKey{true, conformance.Neighbour}, conformance.NeighbourMAC, nil},
		{hopKey{true, conformance.Neighbour6}, conformance.NeighbourMAC6, nil},
		{hopKey{false, conformance.GNBAddress}, conformance.GNBMAC, nil},
		{hopKey{false, conformance.GNBAddress2}, conformance.GNBMAC2, nil},
	} {
		slot, _, err := b.hops.acquire(n.key, conformance.MTU)
		if err != nil {
			t.Fatal(err)
		}
		b.hops.resolve(n.key, nexthop.MAC(n.mac))
		if n.use != nil {
			n.use(slot)
		} else if n.key.n6 {
			if err := b.hops.byIP.Put(n.key.addr.As16(), slot); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.objs.N6.Set(route); err != nil {
		t.Fatal(err)
	}
}

func (b *bed) n3(packet []byte) error { b.sent = bytes.Clone(packet); return nil }
func (b *bed) n6(packet []byte) error { b.sent = bytes.Clone(packet); return nil }

// slowFromN3 are the reasons for which a whole G-PDU is passed to the socket.
var slowFromN3 = map[datapath.Reason]bool{
	datapath.PassUnresolved: true, datapath.PassChanging: true, datapath.PassTooBig: true,
}

const xdpPass, xdpDrop, xdpRedirect = 2, 1, 4

// Frame implements [conformance.Datapath].
func (b *bed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	prog := b.objs.UpfN6Xdp
	if port == conformance.N3 {
		prog = b.objs.UpfN3Xdp
	}
	return b.frame(t, prog, port, frame)
}

func (b *bed) frame(t testing.TB, prog *ebpf.Program, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	before := b.programCounts(t)
	run := ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+64)}
	action, err := prog.Run(&run)
	if err != nil {
		t.Fatal(err)
	}
	reason := moved(t, before, b.programCounts(t))
	switch {
	case action == xdpRedirect && reason == datapath.ReasonNone:
		return conformance.Outcome{Ethernet: run.DataOut[:lenEthernet], Packet: run.DataOut[lenEthernet:]}
	case action == xdpPass && slowFromN3[reason]:
		return b.slowN3(t, frame)
	case action == xdpDrop && port == conformance.N6 && !reason.IsDrop():
		return b.slowN6(t)
	case action == xdpDrop && reason.IsDrop(), action == xdpPass && !reason.IsDrop():
		return conformance.Outcome{Reason: reason}
	}
	t.Fatalf("action %d with counter %v", action, reason)
	return conformance.Outcome{}
}

// slowN3 is what the kernel does with a frame that is passed: the datagram
// comes out of the GTP-U socket.
func (b *bed) slowN3(t testing.TB, frame []byte) conformance.Outcome {
	t.Helper()
	return b.slowly(t, func() {
		ip := frame[lenEthernet:]
		b.slow.fromN3(ip[4*int(ip[0]&0xf)+8:], gnbPort)
	})
}

// slowN6 takes the frame that the program has put into the ring.
func (b *bed) slowN6(t testing.TB) conformance.Outcome {
	t.Helper()
	frame := readException(t, b.Driver)
	return b.slowly(t, func() { b.slow.fromN6(frame) })
}

func (b *bed) slowly(t testing.TB, run func()) conformance.Outcome {
	t.Helper()
	b.sent = nil
	before := slowCounts(b.slow)
	run()
	return conformance.Outcome{Reason: moved(t, before, slowCounts(b.slow)), Packet: b.sent}
}

func slowCounts(s *slowPath) []uint64 {
	n := make([]uint64, len(s.counts))
	for i := range n {
		n[i] = s.counts[i].Load()
	}
	return n
}

func (b *bed) programCounts(t testing.TB) []uint64 {
	t.Helper()
	n := make([]uint64, len(datapath.Reasons())+1)
	for i := range n {
		var perCPU []uint64
		if err := b.objs.Counts.Lookup(uint32(i), &perCPU); err != nil {
			t.Fatal(err)
		}
		for _, v := range perCPU {
			n[i] += v
		}
	}
	return n
}

// moved returns the one reason whose counter went up by one, or ReasonNone.
func moved(t testing.TB, before, after []uint64) datapath.Reason {
	t.Helper()
	reason := datapath.ReasonNone
	for i := range after {
		switch {
		case after[i] == before[i]:
		case after[i] == before[i]+1 && reason == datapath.ReasonNone:
			reason = datapath.Reason(i)
		default:
			t.Fatalf("counter %v went from %d to %d, %v moved too", datapath.Reason(i), before[i], after[i], reason)
		}
	}
	return reason
}

func TestConformance(t *testing.T) {
	for name, kind := range map[string]conformance.Kind{
		"two devices": {Fast: true},
		"one device":  {Fast: true, OneDevice: true},
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, kind, func(t *testing.T) conformance.Datapath {
				b := openBed(t, conformance.MaxSessions)
				if kind.OneDevice {
					return oneDevice{b}
				}
				return b
			})
		})
	}
}

// oneDevice is the bed with N3 and N6 on one device.
type oneDevice struct{ *bed }

func (o oneDevice) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	return o.frame(t, o.objs.UpfN3N6Xdp, port, frame)
}
