package stages

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// FuzzHTTP: whatever a user sends to the web server that the UPF is, the answer is
// a right segment back to it, never more than a few octets longer than the
// response, and no answer makes the UPF answer itself.
func FuzzHTTP(f *testing.F) {
	const url = "http://portal.example.org/"
	d := NewRedirects([]byte("secret"))
	ue, server := netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("198.18.0.1")
	syn := webSegment(ue, server, segment{seq: 7, flags: tcpSYN})
	f.Add([]byte(syn))
	f.Add([]byte(webSegment(ue, server, segment{seq: 8, ack: d.cookie(syn) + 1, flags: tcpACK, payload: []byte("GET / HTTP/1.0\r\n\r\n")})))
	f.Add([]byte(webSegment(ue, server, segment{seq: 8, ack: d.cookie(syn) + 9, flags: tcpACK | tcpFIN})))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, reason := parseUser(b)
		if reason != 0 {
			t.Skip()
		}
		got := d.http(u, url)
		if got == nil {
			return
		}
		again, reason := parseUser(got)
		at := len(got) - len(got.upper().payload)
		if reason != 0 || len(again) != len(got) || got.source() != u.destination() || got.destination() != u.source() || !got.upperSumRight(inet.ProtoTCP, at) {
			t.Fatalf("to %x: %x", u, got)
		}
		if len(got)-at > inet.LenTCP+4+len(found(url)) {
			t.Errorf("to %x: %d octets", u, len(got))
		}
		if next := d.http(got, url); binary.BigEndian.Uint16(got.upper().payload[2:]) != portWeb && next != nil && next.upper().payload[13]&tcpRST == 0 {
			t.Errorf("to %x: an answer to an answer", u)
		}
		if got.upper().payload[13]&tcpRST != 0 && u.upper().payload[13]&tcpRST != 0 {
			t.Errorf("a RST to a RST")
		}
	})
}

// webSegment is a segment from port 1000 of a UE to a web server.
func webSegment(ue, server netip.Addr, s segment) user {
	t := []byte{1000 >> 8, 1000 & 0xff, 0, portWeb}
	t = binary.BigEndian.AppendUint32(t, s.seq)
	t = binary.BigEndian.AppendUint32(t, s.ack)
	t = append(append(t, 5<<4, s.flags, 1, 0, 0, 0, 0, 0), s.payload...)
	b := packet4(inet.ProtoTCP, 0, ue, server, t)
	binary.BigEndian.PutUint16(b[inet.LenIPv4+16:], UpperChecksum(b, inet.ProtoTCP, inet.LenIPv4))
	return b
}

// FuzzWithAddress: a packet with another address has right checksums if it had,
// else wrong ones, and with the first address again is what it was.
func FuzzWithAddress(f *testing.F) {
	ue, server := netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("198.18.0.1")
	f.Add([]byte(webSegment(ue, server, segment{flags: tcpSYN})), []byte{1, 2, 3, 4}, true)
	f.Add([]byte(packetOf(nil, 100, 0)), []byte{1, 2, 3, 4}, false)
	f.Fuzz(func(t *testing.T, b, address []byte, source bool) {
		u, reason := parseUser(b)
		size := 4
		if reason == 0 && u.isIPv6() {
			size = 16
		}
		a, ok := netip.AddrFromSlice(address)
		if reason != 0 || !ok || len(address) != size {
			t.Skip()
		}
		got := u.withAddress(source, a)
		now, was := got.destination(), u.destination()
		if source {
			now, was = got.source(), u.source()
		}
		if now != a || len(got) != len(u) {
			t.Fatalf("%x with %v: %x", u, a, got)
		}
		if !u.isIPv6() && got.sumRight() != u.sumRight() {
			t.Errorf("header checksum of %x, right %v; of %x, right %v", u, u.sumRight(), got, got.sumRight())
		}
		before, after := u.upper(), got.upper()
		at := len(u) - len(before.payload)
		if sum := u.upperSum(); sum != nil && u.upperSumRight(before.protocol, at) != got.upperSumRight(after.protocol, at) {
			t.Errorf("checksum of %x changed sides in %x", u, got)
		}
		// A sum of 0 and one of all ones are the same number.
		if back := got.withAddress(source, was); u.upperSum() == nil && u.sumRight() && !bytes.Equal(back, u) {
			t.Errorf("%x came back as %x", u, back)
		}
	})
}

// TestRedirectsAreBounded: a UE that opens flow after flow keeps so many, the newest,
// others have theirs, and quiet ones make room.
func TestRedirectsAreBounded(t *testing.T) {
	d := NewRedirects(nil)
	host := netip.MustParseAddr("192.0.2.1")
	away := func(ue netip.Addr, port uint16, nowNs uint64) bool {
		u := packetOf(nil, 20, 0)
		copy(u[12:], ue.AsSlice())
		binary.BigEndian.PutUint16(u[inet.LenIPv4:], port)
		_, ok := d.away(u, host, nowNs)
		return ok
	}
	ue := netip.MustParseAddr("10.45.0.1")
	opened := 0
	for port := range uint16(1000) {
		if away(ue, port+1, 1) {
			opened++
		}
	}
	// One entry is for packets without ports.
	if opened != 1000 || len(d.flows) != maxFlowsOfUE {
		t.Errorf("%d flows opened, %d entries; want 1000, %d", opened, len(d.flows), maxFlowsOfUE)
	}
	answer := packetOf(nil, 20, 0)
	copy(answer[12:], host.AsSlice())
	copy(answer[16:], ue.AsSlice())
	copy(answer[inet.LenIPv4:], answer[inet.LenIPv4+2:inet.LenIPv4+4]) // from the port to which it went
	binary.BigEndian.PutUint16(answer[inet.LenIPv4+2:], 1000)
	if back := d.back(answer, 1); back.source() == host {
		t.Error("the answer of the newest flow came back as the host's own")
	}
	for i := range 2 * maxFlows {
		away(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1, 2)
	}
	if len(d.flows) != maxFlows || d.byAge.Len() != maxFlows {
		t.Errorf("%d flows, %d in the list; want %d", len(d.flows), d.byAge.Len(), maxFlows)
	}
	if !away(ue, 5000, 2+flowQuiet) || len(d.flows) != 2 || len(d.ofUE) != 1 {
		t.Errorf("after a quiet time %d flows of %d UEs, want 2 of 1", len(d.flows), len(d.ofUE))
	}
}
