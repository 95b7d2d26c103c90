package session

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
)

// flowMatchAll is the Flow Description that most PDRs have: all packets of the UE.
const flowMatchAll = "permit out ip from any to assigned"

// ParseFlow makes f what a Flow Description says; its other parameters it leaves
// as they are. Words may be any number of spaces apart.
//
//	permit out PROTOCOL from ADDRESS [PORTS] to ADDRESS [PORTS]
//
// PROTOCOL is ip, a number, or one of tcp, udp, sctp and icmp; ADDRESS any,
// assigned, an address or a prefix; PORTS a list of ports and ranges, as
// 80,8000-8080. Refused is what TS 29.212 rules out for a Flow-Description:
// "deny", "in", "!" and options.
//
// Source: TS 29.244 V18.6.0, 8.2.5; TS 29.212 V18, 5.4.2; RFC 6733, 4.3.1.
func ParseFlow(text []byte, f *SDFFilter) error {
	f.Protocol, f.Remote, f.Local = Optional[uint8]{}, netip.Prefix{}, netip.Prefix{}
	f.RemotePorts, f.LocalPorts = f.RemotePorts[:0], f.LocalPorts[:0]
	if string(text) == flowMatchAll { // the usual case, without allocation
		return nil
	}
	w := words{rest: text}
	w.want("permit")
	w.want("out")
	f.Protocol = w.protocol()
	w.want("from")
	f.Remote = w.address()
	f.RemotePorts = w.ports(f.RemotePorts)
	w.want("to")
	f.Local = w.address()
	f.LocalPorts = w.ports(f.LocalPorts)
	if rest := w.next(); w.err == nil && rest != nil {
		w.fail("option", rest)
	}
	if a, b := f.Remote.Addr(), f.Local.Addr(); w.err == nil && a.IsValid() && b.IsValid() && a.Is4() != b.Is4() {
		w.fail("addresses of two families", text)
	}
	if w.err != nil {
		return fmt.Errorf("flow %.80q: %w", text, w.err)
	}
	return nil
}

// words reads a Flow Description word by word. After an error there are no more.
type words struct {
	rest []byte
	err  error
}

func (w *words) fail(what string, word []byte) {
	if w.err == nil {
		w.err = fmt.Errorf("%s %q: %w", what, word, ErrUnsupported)
	}
}

// next takes the next word, or nil.
func (w *words) next() []byte {
	word := w.peek()
	if word != nil {
		w.rest = w.rest[len(word):]
	}
	return word
}

// peek returns the next word, or nil, with which rest begins then.
func (w *words) peek() []byte {
	w.rest = bytes.TrimLeft(w.rest, " \t")
	if len(w.rest) == 0 || w.err != nil {
		return nil
	}
	if i := bytes.IndexAny(w.rest, " \t"); i >= 0 {
		return w.rest[:i]
	}
	return w.rest
}

func (w *words) want(word string) {
	if got := w.next(); string(got) != word {
		w.fail("instead of "+word, got)
	}
}

func (w *words) protocol() (none Optional[uint8]) {
	word := w.next()
	switch string(word) {
	case "ip":
		return none
	case "icmp":
		return Some(uint8(1))
	case "tcp":
		return Some(uint8(6))
	case "udp":
		return Some(uint8(17))
	case "sctp":
		return Some(uint8(132))
	}
	n, err := strconv.ParseUint(string(word), 10, 8)
	if err != nil {
		w.fail("protocol", word)
	}
	return Some(uint8(n))
}

// address reads an address or a prefix; not valid: any.
func (w *words) address() (any netip.Prefix) {
	word := w.next()
	switch string(word) {
	case "any", "assigned":
		return any
	}
	if bytes.IndexByte(word, '/') >= 0 {
		p, err := netip.ParsePrefix(string(word))
		if err != nil || p.Addr().Is4In6() {
			w.fail("address", word)
		}
		return p.Masked()
	}
	a, err := netip.ParseAddr(string(word))
	if err != nil || a.Zone() != "" || a.Is4In6() {
		w.fail("address", word)
		return any
	}
	return netip.PrefixFrom(a, a.BitLen())
}

// maxPorts is how many ports and ranges one side of a filter may have.
const maxPorts = 32

// ports appends those of a list, if one comes now.
func (w *words) ports(list []PortRange) []PortRange {
	word := w.peek()
	if len(word) == 0 || word[0] < '0' || word[0] > '9' {
		return list
	}
	w.next()
	for more := true; more; {
		var item []byte
		item, word, more = bytes.Cut(word, []byte(","))
		first, last, isRange := bytes.Cut(item, []byte("-"))
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(string(first), 10, 16)
		b, errB := strconv.ParseUint(string(last), 10, 16)
		if errA != nil || errB != nil || a > b || len(list) == maxPorts {
			w.fail("ports", item)
			return list
		}
		list = append(list, PortRange{uint16(a), uint16(b)})
	}
	return list
}
