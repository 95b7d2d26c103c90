package stages_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// FuzzUPF: whatever the rules are and whatever arrives, what is sent is a whole
// packet to gopacket, with right lengths and checksums, and each frame moves
// the counters of one rule at most, by itself.
func FuzzUPF(f *testing.F) {
	for _, port := range []conformance.Port{conformance.N3, conformance.N6} {
		for _, frame := range conformance.Frames(port) {
			f.Add([]byte{}, port == conformance.N3, frame)
		}
	}
	for i := range byte(20) {
		shape := make([]byte, 200)
		for j := range shape {
			shape[j] = byte(j)*(2*i+1) + i*i
		}
		f.Add(shape, true, []byte{})
	}
	n3, n6 := conformance.ShapeFrames()
	f.Fuzz(func(t *testing.T, shape []byte, isN3 bool, frame []byte) {
		if len(frame) > 3000 || len(shape) > 1000 {
			t.Skip()
		}
		u := stages.New(stages.Config{
			Endpoints: conformance.Endpoints, MaxSessions: conformance.MaxSessions,
			MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6, Advertise: &conformance.Advertise,
			Now:  func() uint64 { return 1_000_000_000 },
			Send: func(packet []byte) { checkPacket(t, packet) },
		})
		for _, c := range changes(shape) {
			_ = u.Apply(context.Background(), c) // a refusal is an answer, too
		}
		one := func(treat func([]byte) stages.Frame, frame []byte) {
			before := counted(t, u)
			out := treat(frame)
			if out.Reason == datapath.ReasonNone {
				checkPacket(t, out.Packet)
			}
			if moved := counted(t, u) - before; moved > 1 || moved == 0 && out.Reason == datapath.ReasonNone {
				t.Errorf("frame %x: %v, %d counted", frame, out.Reason, moved)
			}
		}
		if len(shape) > 0 {
			for _, frame := range n3 {
				one(u.FromN3, frame)
			}
			for _, frame := range n6 {
				one(u.FromN6, frame)
			}
		}
		if isN3 {
			one(u.FromN3, frame)
		} else {
			one(u.FromN6, frame)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	})
}

// changes are those of the shape, or the sessions of the packet table.
func changes(shape []byte) []*api.Change {
	if len(shape) > 0 {
		return conformance.Shape(shape)
	}
	var all []*api.Change
	for _, s := range conformance.Sessions() {
		all = append(all, &api.Change{Seid: s.GetSeid(), Session: s})
	}
	return all
}

// counted returns how many packets were counted, forwarded or dropped.
func counted(t *testing.T, u *stages.UPF) (n uint64) {
	t.Helper()
	for seid := range uint64(conformance.MaxSessions + 1) {
		usage, err := u.Usage(seid)
		if errors.Is(err, datapath.ErrNoSession) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range usage.GetRules() {
			n += r.GetPackets() + r.GetDroppedPackets()
		}
	}
	return n
}

// checkPacket states that an IP packet is whole and, if its outer header is
// ours, what gopacket would have made.
func checkPacket(t *testing.T, packet []byte) {
	t.Helper()
	if len(packet) == 0 {
		t.Fatalf("nothing sent")
	}
	first := gopacket.Decoder(layers.LayerTypeIPv4)
	if packet[0]>>4 == 6 {
		first = layers.LayerTypeIPv6
	}
	p := gopacket.NewPacket(packet, first, gopacket.NoCopy)
	var again []gopacket.SerializableLayer
	var src net.IP
	size := 0
	udp, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		again, src, size = append(again, ip), ip.SrcIP, int(ip.Length)
	case *layers.IPv6:
		again, src, size = append(again, ip), ip.SrcIP, 40+int(ip.Length)
	}
	if size != len(packet) {
		t.Fatalf("packet %x has %d octets, says %d", packet, len(packet), size)
	}
	ours := slices.ContainsFunc(conformance.Endpoints, func(e datapath.Endpoint) bool {
		return src.Equal(e.Address.AsSlice()) || src.Equal(e.Address6.AsSlice())
	})
	if !ours || !ok || udp.DstPort != 2152 {
		return
	}
	plain := udp.Checksum == 0
	if err := udp.SetNetworkLayerForChecksum(p.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	payload := bytes.Clone(udp.Payload)
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		append(again, udp, gopacket.Payload(payload))...)
	if err != nil {
		t.Fatal(err)
	}
	want := buf.Bytes()
	if at := len(packet) - len(payload) - 2; plain && packet[0]>>4 == 4 {
		want[at], want[at+1] = 0, 0
	}
	if !bytes.Equal(packet, want) {
		t.Errorf("packet\n     %x\nwant %x", packet, want)
	}
}
