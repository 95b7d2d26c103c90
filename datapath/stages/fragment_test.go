package stages

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// FuzzFragments: the fragments of a packet, put together as RFC 791 says, are
// that packet again, each fits and each is a packet; cut again they still are.
func FuzzFragments(f *testing.F) {
	f.Add([]byte{}, uint16(3000), uint16(0), uint16(1456), uint16(576))
	f.Add([]byte{0x94, 4, 0, 0, 7, 7, 4, 1, 2, 3, 4}, uint16(1500), uint16(0x2010), uint16(1400), uint16(600))
	f.Add([]byte{0x88, 0}, uint16(2000), uint16(0x1f00), uint16(577), uint16(576))
	f.Fuzz(func(t *testing.T, options []byte, octets, field, mtu, again uint16) {
		u := packetOf(options[:min(len(options), 40)], int(octets), field)
		if mtu < minMTU4 || again < minMTU4 || !u.mayFragment() || int(field&maskOffset4)*8+len(u) > maxPacket {
			t.Skip()
		}
		var all []user
		for _, f := range u.fragments(int(mtu)) {
			all = append(all, f.fragments(int(again))...)
		}
		data := u[4*int(u[0]&0xf):]
		for i, f := range all {
			header := 4 * int(f[0]&0xf)
			flags := binary.BigEndian.Uint16(f[6:])
			at := int(flags&maskOffset4-field&maskOffset4) * 8
			last := i == len(all)-1
			if len(f) > int(mtu) || len(f) > int(again) || int(binary.BigEndian.Uint16(f[2:])) != len(f) || !f.sumRight() {
				t.Fatalf("fragment %d is no packet of at most %d and %d octets: %x", i, mtu, again, f)
			}
			if at+len(f)-header > len(data) || !bytes.Equal(f[header:], data[at:at+len(f)-header]) {
				t.Fatalf("fragment %d at %d: %x", i, at, f)
			}
			if more := flags&flagMF != 0; more != (!last || field&flagMF != 0) {
				t.Errorf("fragment %d of %d: more fragments %v", i, len(all), more)
			}
			if !bytes.Equal(f[12:20], u[12:20]) || f[8] != u[8] || !bytes.Equal(f[4:6], u[4:6]) {
				t.Errorf("fragment %d has another header: %x", i, f[:20])
			}
			data = append(data[:at:at], append(make([]byte, len(f)-header), data[at+len(f)-header:]...)...)
		}
		if !bytes.Equal(data, make([]byte, len(data))) {
			t.Errorf("not all octets went: %x", data)
		}
	})
}

// packetOf is an IPv4 packet with these options and this many octets of data.
func packetOf(options []byte, octets int, field uint16) user {
	for len(options)%4 != 0 {
		options = append(options[:len(options):len(options)], 0)
	}
	u := append(make(user, inet.LenIPv4), options...)
	u[0] = 0x40 | byte(len(u)/4)
	u[8], u[9] = 64, inet.ProtoUDP
	copy(u[4:6], "id")
	copy(u[12:20], "\x0a\x2d\x00\x01\xc6\x12\x00\x01")
	binary.BigEndian.PutUint16(u[6:], field)
	header := len(u)
	for i := range min(octets, maxPacket-header) {
		u = append(u, byte(i%251+1))
	}
	binary.BigEndian.PutUint16(u[2:], uint16(len(u)))
	binary.BigEndian.PutUint16(u[10:], checksum.Of(u[:header]))
	return u
}

// TestFragmentOptions: only options that say so are in later fragments.
func TestFragmentOptions(t *testing.T) {
	routerAlert, timestamp := []byte{0x94, 4, 0, 0}, []byte{0x44, 8, 5, 0, 0, 0, 0, 0}
	u := packetOf(append(append([]byte{1}, timestamp...), append(routerAlert, 0)...), 1000, 0)
	got := u.fragments(576)
	if len(got) != 2 || !bytes.Equal(got[0][inet.LenIPv4:36], u[inet.LenIPv4:36]) {
		t.Fatalf("fragments %x", got)
	}
	if header := got[1][:4*int(got[1][0]&0xf)]; !bytes.Equal(header[inet.LenIPv4:], routerAlert) {
		t.Errorf("options of the second fragment %x, want %x", header[inet.LenIPv4:], routerAlert)
	}
}
