package stages

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const (
	flagMF = 0x2000

	// What a link must carry at least; a tunnel that leaves less for the user
	// packet is fragmented itself, outside. Source: RFC 8200, 5; RFC 1122, 3.3.2
	// (what every IPv4 host takes).
	minMTU4, minMTU6 = 576, 1280
)

// minMTU returns the least MTU that u's sender can be told of, in octets.
func (u user) minMTU() int {
	if u.isIPv6() {
		return minMTU6
	}
	return minMTU4
}

// mayFragment reports whether a router may cut u: an IPv4 packet without DF. One
// whose header checksum is wrong stays whole, so that it stays wrong.
func (u user) mayFragment() bool {
	return !u.isIPv6() && binary.BigEndian.Uint16(u[6:])&flagDF == 0 && u.sumRight()
}

// fragments cuts u, which may be cut, into packets of at most mtu octets, which
// is [minMTU4] or more. A fragment may be cut again.
//
// Source: RFC 791, 3.2 (fragmentation procedure).
func (u user) fragments(mtu int) []user {
	header := u[:4*int(u[0]&0xf)]
	data := u[len(header):]
	flags := binary.BigEndian.Uint16(u[6:])
	offset := flags & maskOffset4 // in units of 8 octets
	var out []user
	for {
		room := (mtu - len(header)) &^ 7
		more := len(header)+len(data) > mtu
		if !more {
			room = len(data)
		}
		f := append(append(make(user, 0, len(header)+room), header...), data[:room]...)
		binary.BigEndian.PutUint16(f[2:], uint16(len(f)))
		field := flags&flagMF | offset
		if more {
			field |= flagMF
		}
		binary.BigEndian.PutUint16(f[6:], field)
		f[10], f[11] = 0, 0
		binary.BigEndian.PutUint16(f[10:], checksum.Of(f[:len(header)]))
		out = append(out, f)
		if !more {
			return out
		}
		data, offset = data[room:], offset+uint16(room/8)
		if len(out) == 1 {
			header = u.laterHeader()
		}
	}
}

// laterHeader returns the header of the fragments behind the first: of its
// options, those that say that they are to be copied.
func (u user) laterHeader() user {
	header := append(user(nil), u[:inet.LenIPv4]...)
	options := u[inet.LenIPv4 : 4*int(u[0]&0xf)]
	for len(options) > 0 && options[0] != 0 {
		size := 1
		if options[0] != 1 { // No Operation has no length
			if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
				break
			}
			size = int(options[1])
		}
		if options[0]&0x80 != 0 {
			header = append(header, options[:size]...)
		}
		options = options[size:]
	}
	for len(header)%4 != 0 {
		header = append(header, 0)
	}
	header[0] = 0x40 | byte(len(header)/4)
	return header
}
