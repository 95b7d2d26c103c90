package stages

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const (
	icmpEchoReply, icmpUnreachable, icmpQuench, icmpEcho, icmpExceeded, icmpParameter = 0, 3, 4, 8, 11, 12
)

// end says which end of a packet the UE's is.
type end int

const (
	source end = iota
	destination
)

// at returns where the address stands in an IPv4 header, and the port in what is
// behind it: of TCP and UDP.
func (e end) at() (address, port int) {
	if e == source {
		return 12, 0
	}
	return 16, 2
}

// transport returns the protocol of an IPv4 packet and what is behind its header.
func (u user) transport() (protocol byte, payload []byte) { return u[9], u[4*int(u[0]&0xf):] }

// portAt returns where in the payload the port of an end stands, and where the
// checksum; ok is false if it has none that the NAT translates.
//
// Of ICMP only Echo Requests of UEs, and the Echo Replies to them, have one.
func portAt(protocol byte, payload []byte, e end, quoted bool) (port, sum int, ok bool) {
	_, port = e.at()
	switch protocol {
	case inet.ProtoTCP:
		return port, 16, len(payload) >= 20 || quoted && len(payload) >= 8
	case inet.ProtoUDP:
		return port, 6, len(payload) >= 8
	case inet.ProtoICMP:
		want := byte(icmpEcho)
		if e == destination && !quoted {
			want = icmpEchoReply
		}
		return 4, 2, len(payload) >= 8 && payload[0] == want
	}
	return 0, 0, false
}

// isError reports whether an IPv4 packet is an ICMP error, which quotes another.
func (u user) isError() bool {
	protocol, b := u.transport()
	if protocol != inet.ProtoICMP || len(b) == 0 {
		return false
	}
	switch b[0] {
	case icmpUnreachable, icmpQuench, icmpExceeded, icmpParameter:
		return true
	}
	return false
}

func (u user) key(e end, port int, payload []byte) natKey {
	address, _ := e.at()
	return natKey{binary.BigEndian.Uint32(u[address:]), binary.BigEndian.Uint16(payload[port:]), u[9]}
}

// rewrite puts an address and a port in the place of those of an end, and
// changes the checksums by the difference. The transport checksum may be 0, if it
// is UDP's, or missing, in a quoted packet.
//
// Source: RFC 1624, equation 3; RFC 768 (no checksum, and one that comes to 0).
func (u user) rewrite(e end, portAt, sumAt int, addr uint32, port uint16) {
	at, _ := e.at()
	protocol, payload := u.transport()
	var address sumChange
	address.add(binary.BigEndian.Uint32(u[at:]), addr)
	binary.BigEndian.PutUint32(u[at:], addr)
	binary.BigEndian.PutUint16(u[10:], address.apply(binary.BigEndian.Uint16(u[10:])))
	if portAt < 0 {
		return
	}
	sum := address
	if protocol == inet.ProtoICMP {
		sum = 0 // has no pseudo-header
	}
	sum.add16(binary.BigEndian.Uint16(payload[portAt:]), port)
	binary.BigEndian.PutUint16(payload[portAt:], port)
	if len(payload) < sumAt+2 {
		return
	}
	before := binary.BigEndian.Uint16(payload[sumAt:])
	if protocol == inet.ProtoUDP && before == 0 {
		return
	}
	after := sum.apply(before)
	if protocol == inet.ProtoUDP && after == 0 {
		after = 0xffff
	}
	binary.BigEndian.PutUint16(payload[sumAt:], after)
}

// sumChange is by how much an Internet checksum changes.
type sumChange uint32

func (c *sumChange) add16(before, after uint16) { *c += sumChange(^before) + sumChange(after) }

func (c *sumChange) add(before, after uint32) {
	c.add16(uint16(before>>16), uint16(after>>16))
	c.add16(uint16(before), uint16(after))
}

func (c sumChange) apply(check uint16) uint16 {
	sum := uint32(c) + uint32(^check)
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// Out translates a packet of a UE, which is the caller's to change. A fragment
// may have to wait for the first one, and releases those that wait for it.
func (n *NAT) Out(u user, nowNs uint64) ([]user, datapath.Reason) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.translate(u, source, nowNs)
}

// In translates a packet to an address outside.
func (n *NAT) In(u user, nowNs uint64) ([]user, datapath.Reason) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.translate(u, destination, nowNs)
}

// Admit reports why a packet of a UE cannot be translated, and makes its mapping.
func (n *NAT) Admit(u user, nowNs uint64) datapath.Reason {
	n.mu.Lock()
	defer n.mu.Unlock()
	if u.isLaterFragment() {
		return datapath.ReasonNone
	}
	if u.isError() {
		_, _, reason := n.quoted(u, source)
		return reason
	}
	protocol, payload := u.transport()
	port, _, ok := portAt(protocol, payload, source, false)
	if !ok {
		return datapath.DropNATMapping
	}
	m, reason := n.mapping(u.key(source, port, payload), nowNs)
	if m != nil && atomic.LoadUint64(&m.Last) == 0 {
		atomic.StoreUint64(&m.Last, nowNs)
	}
	return reason
}

func (n *NAT) translate(u user, e end, nowNs uint64) ([]user, datapath.Reason) {
	switch {
	case u.isLaterFragment():
		return n.laterFragment(u, e, nowNs)
	case u.isError():
		return n.errorMessage(u, e)
	}
	protocol, payload := u.transport()
	port, sum, ok := portAt(protocol, payload, e, false)
	if !ok {
		return nil, datapath.DropNATMapping
	}
	key := fragmentOf(u)
	m, reason := n.find(u.key(e, port, payload), e, nowNs)
	if m == nil {
		return nil, reason
	}
	m.use(e, u, nowNs)
	addr, to := m.toward(e)
	u.rewrite(e, port, sum, addr, to)
	if !u.isFirstFragment() {
		return []user{u}, datapath.ReasonNone
	}
	return append([]user{u}, n.firstFragment(key, e, addr, nowNs)...), datapath.ReasonNone
}

// find returns the mapping of a packet's end.
func (n *NAT) find(k natKey, e end, nowNs uint64) (*Mapping, datapath.Reason) {
	if e == source {
		return n.mapping(k, nowNs)
	}
	if m := n.in[k]; m != nil {
		return m, datapath.ReasonNone
	}
	return nil, datapath.DropNATMapping
}

// toward returns what an end is translated to.
func (m *Mapping) toward(e end) (addr uint32, port uint16) {
	if e == source {
		return m.Outside, m.OutsidePort
	}
	return m.UE, m.UEPort
}

// use notes a packet. Only those of the UE let a mapping live (RFC 4787, REQ-6),
// but who ends the connection, from either side, gives the other one time to do so
// (RFC 5382, REQ-5): once, since only the UE opens it again, or goes on with it
// (RFC 7857, 2.1).
func (m *Mapping) use(e end, u user, nowNs uint64) {
	if e == source {
		atomic.StoreUint64(&m.Last, nowNs)
	} else {
		atomic.OrUint32(&m.State, natReplied)
	}
	if protocol, tcp := u.transport(); protocol == inet.ProtoTCP && len(tcp) >= 20 {
		m.connection(e, u, tcp, nowNs)
	}
}

// connection notes a segment: is the mapping of one connection, or of several, and has
// the one ended? A stranger ends none.
func (m *Mapping) connection(e end, u user, tcp []byte, nowNs uint64) {
	address, port := (1 - e).at()
	peer, peerPort, state := binary.BigEndian.Uint32(u[address:]), tcp[port]^tcp[port+1], atomic.LoadUint32(&m.State)
	same := atomic.LoadUint32(&m.Peer) == peer && m.PeerPort == peerPort
	ends := tcp[13]&(tcpFIN|tcpRST) != 0
	if e == source {
		opens := tcp[13]&tcpSYN != 0 && !ends
		data := len(tcp) > int(tcp[12]>>4)*4
		switch {
		case m.Peer == 0, opens && state&natClosing != 0:
			m.PeerPort = peerPort
			atomic.StoreUint32(&m.Peer, peer)
			same = true
		case !same && (opens || data):
			state = atomic.OrUint32(&m.State, natShared) | natShared
		}
		if !ends && (opens || data) && state&natClosing != 0 {
			atomic.AndUint32(&m.State, ^uint32(natClosing))
		}
	}
	if ends && same && state&natShared == 0 && atomic.OrUint32(&m.State, natClosing)&natClosing == 0 {
		atomic.StoreUint64(&m.Last, nowNs)
	}
}

// quoted returns the packet that an ICMP error quotes, and the mapping that it
// went by: an error of the UE quotes a packet to the UE, one to the UE a packet of
// it after its translation.
//
// Source: RFC 5508, REQ-3 to REQ-5.
func (n *NAT) quoted(u user, e end) (inner user, m *Mapping, reason datapath.Reason) {
	_, payload := u.transport()
	if len(payload) < 8+inet.LenIPv4 || checksum.Of(payload) != 0 {
		return nil, nil, datapath.DropNATMapping
	}
	inner = user(payload[8:])
	if header := 4 * int(inner[0]&0xf); inner[0]>>4 != 4 || header < inet.LenIPv4 || len(inner) < header || inner.isLaterFragment() {
		return nil, nil, datapath.DropNATMapping
	}
	was := 1 - e // the UE's end of the quoted packet
	protocol, quote := inner.transport()
	port, _, ok := portAt(protocol, quote, was, true)
	if !ok && protocol == inet.ProtoICMP && was == destination && len(quote) >= 8 && quote[0] == icmpEchoReply {
		port, ok = 4, true
	}
	if !ok {
		return nil, nil, datapath.DropNATMapping
	}
	k := inner.key(was, port, quote)
	if e == source {
		m = n.out[k]
	} else {
		m = n.in[k]
	}
	if m == nil {
		return nil, nil, datapath.DropNATMapping
	}
	return inner, m, datapath.ReasonNone
}

// errorMessage translates an ICMP error and the packet in it. That of a router
// behind the UE, which has another source, goes out from the UE's address
// outside.
func (n *NAT) errorMessage(u user, e end) ([]user, datapath.Reason) {
	inner, m, reason := n.quoted(u, e)
	if m == nil {
		return nil, reason
	}
	addr, port := m.toward(e)
	protocol, _ := inner.transport()
	at, sum := 4, 2
	if protocol != inet.ProtoICMP {
		_, at = (1 - e).at()
		sum = map[byte]int{inet.ProtoTCP: 16, inet.ProtoUDP: 6}[protocol]
	}
	inner.rewrite(1-e, at, sum, addr, port)
	_, payload := u.transport()
	payload[2], payload[3] = 0, 0
	binary.BigEndian.PutUint16(payload[2:], checksum.Of(payload))
	u.rewrite(e, -1, 0, addr, 0)
	return []user{u}, datapath.ReasonNone
}

// Quote translates in an ICMP error of the UPF's own, which it is about to send
// outside, the packet to a UE that it quotes.
func (n *NAT) Quote(u user) {
	n.mu.Lock()
	defer n.mu.Unlock()
	from := binary.BigEndian.Uint32(u[12:])
	if out, _ := n.errorMessage(u, source); out != nil {
		u.rewrite(source, -1, 0, from, 0)
	}
}
