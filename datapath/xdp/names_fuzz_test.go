package xdp

import (
	"bytes"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// said are beginnings of what one side says. The ClientHello is to a.video.test.
var said = []string{
	"", "body", "GET / HTTP/1.1\r\nHost: a.video.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
	string(shortHello), "AB ", "ABC ", "ABCDEFGHIJKLMNOP ", "ABCDEFGHIJKLMNOPQ ", "\x16", "\x16\x03", "\x16\x03\x01\x00\x05\x02",
	conformance.QUICInitial("12345678", "a.video.test"), conformance.QUICInitial("12345678", "b.test"), conformance.QUICInitial("87654321", "a.video.test"), "\x40 and so on",
}

// shortHello is a ClientHello with nothing but a server name.
var shortHello = func() []byte {
	name := "a.video.test"
	n := byte(len(name))
	extensions := append([]byte{0, n + 9, 0, 0, 0, n + 5, 0, n + 3, 0, 0, n}, name...)
	hello := append(make([]byte, 2+32), 0, 0, 2, 0x13, 1, 1, 0)
	hello = append(hello, extensions...)
	message := append([]byte{1, 0, 0, byte(len(hello))}, hello...)
	return append([]byte{22, 3, 1, 0, byte(len(message))}, message...)
}()

// FuzzNamesAgreeWithModel: whatever is said in TCP connections and by UDP, programs and slow
// path together take it for what the model does, packet for packet.
func FuzzNamesAgreeWithModel(f *testing.F) {
	for _, text := range [][]byte{
		{0, 0x02, 0, 0, 0, 0x92, 0, 0, 0, 0x10, 5, 0, 0, 0x90, 4, 0, 0, 0x10, 1, 0},
		{0, 0x10, 5, 20, 0, 0x30, 5, 20, 0, 0x10, 1, 0, 0, 0x90, 1, 0, 0, 0x14, 0, 0, 0, 0x90, 1, 0},
		{1, 0x10, 2, 0, 1, 0x10, 3, 0, 1, 0x90, 2, 0, 1, 0x10, 1, 0, 1, 0x10, 6, 0, 1, 0x10, 7, 0, 1, 0x10, 8, 0, 1, 0x10, 9, 0},
		{2, 0x10, 10, 0, 2, 0x10, 11, 0, 2, 0x10, 12, 0, 2, 0x50, 1, 0, 3, 0x10, 1, 0, 3, 0x90, 2, 0, 3, 0x90, 3, 0, 3, 0x10, 3, 0},
	} {
		f.Add(text, "")
	}
	f.Add([]byte{4, 0x10, 5, 0x80, 0, 0x10, 3, 0, 4, 0x02, 0, 0, 0, 0x02, 0, 0, 0, 0x92, 0, 0, 4, 0x04, 0, 0, 0, 0x10, 2, 0}, "")
	f.Add([]byte{0, 0x10, 1, 0, 0, 0x10, 13, 0, 0, 0x10, 1, 0}, "\x16\x03\x03\x00\x10\x01")
	f.Add([]byte{8, 0, 15, 0, 8, 0, 12, 0, 8, 0x80, 15, 0, 0, 0x10, 1, 0, 8, 0, 14, 0, 9, 0, 13, 0, 9, 0, 12, 0, 9, 0, 15, 0, 12, 0, 12, 0, 10, 0x80, 12, 9}, "\xc0\x00\x00\x00\x01\x00\x00")
	b := openBed(f, conformance.MaxSessions)
	f.Fuzz(func(t *testing.T, steps []byte, other string) {
		if len(steps) > 400 || len(other) > 100 {
			t.Skip()
		}
		m := stages.New(stages.Config{
			Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions, Hosts: conformance.HostAddresses, Now: monotonic,
			MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6,
		})
		begin, end := &api.Change{Seid: 1, Session: hostSession()}, &api.Change{Seid: 1}
		for _, d := range []datapath.Driver{m, b} {
			if err := d.Apply(t.Context(), begin); err != nil {
				t.Fatal(err)
			}
		}
		var next [4][2]uint32 // sequence numbers
		for ; len(steps) >= 4; steps = steps[4:] {
			port, p := hostStep(steps, &next, append(said, other))
			frame := p.frame(port)
			slow := m.FromN6
			if port == conformance.N3 {
				slow = m.FromN3
			}
			want, got := slow(bytes.Clone(frame)), b.Frame(t, port, frame)
			if got.Reason != want.Reason || !bytes.Equal(got.Packet, want.Packet) {
				t.Errorf("%+v\nxdp   %v %x\nmodel %v %x", p, got.Reason, got.Packet, want.Reason, want.Packet)
			}
		}
		if err := b.Apply(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		b.checkNames(t, 0)
	})
}

// hostStep makes a packet of four octets: flow, whether its checksum is wrong, whether it
// is UDP, and Data Offset; flags and direction; what is said; and where that is cut off. What was cut
// off is said next.
func hostStep(step []byte, next *[4][2]uint32, said []string) (conformance.Port, hostPacket) {
	port, side := conformance.N3, 0
	if step[1]&0x80 != 0 {
		port, side = conformance.N6, 1
	}
	flow := step[0] & 3
	p := hostPacket{protocol: 6, port: 80 + uint16(flow), flags: step[1] & 0x3f, seq: next[flow][side], offset: step[0] >> 4, wrongSum: step[0]&4 != 0}
	if step[0]&8 != 0 {
		p.protocol = inet.ProtoUDP
	}
	p.data = said[int(step[2])%len(said)]
	if cut := int(step[3] & 0x7f); cut > 0 && cut < len(p.data) {
		p.data = p.data[:cut]
		if step[1]&0x40 != 0 {
			p.data = said[int(step[2])%len(said)][cut:]
		}
	}
	if step[3]&0x80 == 0 { // else it is said again
		next[flow][side] += uint32(len(p.data))
	}
	return port, p
}
