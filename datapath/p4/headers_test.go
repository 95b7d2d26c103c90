package p4

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// tagged puts a tag into a frame.
func tagged(frame []byte) []byte {
	return append(append(bytes.Clone(frame[:12]), 0x81, 0, 0, 100), frame[12:]...)
}

// FuzzLookAt: of G-PDUs in the forms that p4/parse.p4 knows it is found where the user packet
// begins, as package gtpu says; of others nothing.
func FuzzLookAt(f *testing.F) {
	d := &dice{left: drawn(1, 4000)[0]}
	for range 40 {
		_, frame := d.frame(nil)
		f.Add(frame)
		f.Add(tagged(frame))
	}
	for _, header := range [][]byte{
		nil, {0, 0, 0, 0}, {0, 0, 0, 0x85, 1, 0x10, 9, 0}, {0, 0, 0, 0x85, 2, 0x10, 9, 0, 0, 0, 0, 0},
		{0, 0, 0, 0x85, 1, 0x10, 9, 0x20, 1, 0, 0, 0}, {0, 0, 0, 0xc0, 1, 0, 1, 0},
	} {
		whole := gpduWith(header...)
		for n := range len(whole) + 1 {
			f.Add(whole[:n])
		}
		fragment, end := bytes.Clone(whole), bytes.Clone(whole)
		fragment[inet.LenEthernet+6] = 0x20
		end[inet.LenEthernet+inet.LenIPv4+inet.LenUDP+1] = 254 // End Marker
		f.Add(fragment)
		f.Add(end)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		got, ok := lookAt(frame)
		local, message := datagramOf(frame)
		header, err := gtpu.ParseRelayed(message)
		if message == nil || err != nil {
			if ok && message == nil {
				t.Errorf("%x: %+v of no GTP-U message", frame, got)
			}
			return // a length that is wrong is for the pipeline
		}
		known := len(header) == 8 || len(header) == 12 || len(header) == 16 && header[11] == 0x85 && header[12] == 1
		known = known && header[0]&0x08 == 0 && header.Type() == gtpu.GPDU
		const shortest = 20 // a user packet
		switch user := len(message) - len(header); {
		case ok && !known:
			t.Errorf("%x: %+v, want nothing: the header is %x", frame, got, header)
		case !ok && known && user >= shortest:
			t.Errorf("%x: nothing is found", frame)
		case ok:
			want := headerSeen{datapath.Key{TEID: header.TEID(), Local: local}, uint8(len(frame) - user)}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(headerSeen{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
				cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("%x (-want +got):\n%s", frame, diff)
			}
		}
	})
}

// datagramOf returns the GTP-U message in a frame, with the address that it is sent to; nil: there
// is none.
func datagramOf(frame []byte) (local netip.Addr, message []byte) {
	for _, at := range []int{12, 16} {
		if len(frame) < at+2 || at == 16 && binary.BigEndian.Uint16(frame[12:]) != 0x8100 {
			break
		}
		ip, size := frame[at+2:], 0
		switch binary.BigEndian.Uint16(frame[at:]) {
		case 0x0800:
			if len(ip) < 20 || ip[0] != 0x45 || ip[6]&0x3f != 0 || ip[7] != 0 || ip[9] != 17 {
				return local, nil
			}
			local, size = netip.AddrFrom4([4]byte(ip[16:20])), 20
		case 0x86dd:
			if len(ip) < 40 || ip[0]>>4 != 6 || ip[6] != 17 {
				return local, nil
			}
			local, size = netip.AddrFrom16([16]byte(ip[24:40])), 40
		default:
			continue
		}
		if len(ip) < size+8 || binary.BigEndian.Uint16(ip[size+2:]) != 2152 {
			return local, nil
		}
		return local, ip[size+8:]
	}
	return local, nil
}

// gpduWith is a G-PDU of session 1 with these octets behind the mandatory ones of the header.
func gpduWith(header ...byte) []byte {
	user := userPacket(ueOf(1), remote4, 0, 100)
	h := append([]byte{0x30, 255, 0, 0, 0, 0, 0, 1}, header...)
	if len(header) > 0 {
		h[0] = 0x34
	}
	binary.BigEndian.PutUint16(h[2:], uint16(len(header)+len(user)))
	return ether(bedPorts[0].MAC, datagram(n3, append(h, user...)))
}

// TestHeaders: what a peer puts in front of user packets is learnt from the first one that goes
// to the CPU, and the target counts what is behind it.
func TestHeaders(t *testing.T) {
	b := newBed(t)
	b.set(plainSession(1))
	b.settle()
	want := uint64(0)
	for _, tt := range []struct {
		name  string
		frame []byte
		seen  bool // it is what the target expects, or nothing to learn from
		cpu   bool // for good
	}{
		{name: "octets behind the user packet", frame: append(gpduWith(), 0, 0), seen: true, cpu: true},
		{name: "none, as expected", frame: gpduWith(), seen: true},
		{name: "container", frame: gpduWith(0, 0, 0, 0x85, 1, 0x10, 9, 0)},
		{name: "container again", frame: gpduWith(0, 0, 0, 0x85, 1, 0x10, 9, 0), seen: true},
		{name: "no extension header", frame: gpduWith(0, 0, 0, 0)},
		{name: "none", frame: gpduWith()},
		{name: "container of two words", frame: gpduWith(0, 0, 0, 0x85, 2, 0x10, 9, 0, 0, 0, 0, 0), seen: true, cpu: true},
	} {
		before := b.usage(1)
		if before != want {
			t.Errorf("%s: usage before is %d, want %d", tt.name, before, want)
		}
		f := b.send(0, tt.frame)
		if f.cpu == (tt.seen && !tt.cpu) {
			t.Errorf("%s: left to the CPU %v, want %v", tt.name, f.cpu, !f.cpu)
		}
		if b.learn() == tt.seen {
			t.Errorf("%s: something has been learnt: %v", tt.name, !tt.seen)
		}
		if !tt.seen {
			f = b.send(0, tt.frame)
		}
		if f.cpu != tt.cpu {
			t.Errorf("%s: left to the CPU %v, want %v", tt.name, f.cpu, tt.cpu)
		}
		if !tt.cpu {
			want += 100
		}
	}
	b.wantQuiet()
}
