package stages

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Wrap is an Outer Header Creation without GTP-U, towards a host of the data
// network: UDP/IP, or IP alone.
// Source: TS 29.244 V18.6.0, 8.2.56; TS 23.501 V18.8.0, 5.6.10.3 (tunnels on N6).
type Wrap struct {
	UDP         bool
	Peer, Local netip.Addr // Local not valid: the UPF's as a router
	Port        uint16     // UDP, both ways
	DSCP        int        // -1: copied from the user packet
}

const protoIPv4, protoIPv6 = 4, 41 // IP in IP: RFC 2003, 3.1; RFC 2473, 3

// newWrap makes that of a FAR of s. Packets of an unstructured PDU session come
// from the address that the session has on N6, others from the UPF.
func newWrap(s *api.Session, f *api.Forward) *Wrap {
	ohc := f.GetOuterHeaderCreation()
	w := &Wrap{
		UDP: ohc.GetEncapsulation() == api.Encapsulation_UDP, Peer: peer(ohc), Port: uint16(ohc.GetPort()), DSCP: -1,
	}
	if f.Dscp != nil {
		w.DSCP = int(f.GetDscp())
	}
	if s.GetPduType() == api.PDUType_UNSTRUCTURED {
		w.Local = sessionAddress(s, w.Peer.Is6())
	}
	return w
}

// sessionAddress returns the address of s on N6: its IPv4 address, or the first
// one of its IPv6 prefix; not valid: it has none.
func sessionAddress(s *api.Session, v6 bool) netip.Addr {
	for _, r := range s.GetRules() {
		a := r.GetDetect().GetUeAddress()
		switch {
		case v6 && a.GetIpv6Prefix() != 0:
			var b [16]byte
			binary.BigEndian.PutUint64(b[:], a.GetIpv6Prefix())
			b[15] = 1
			return netip.AddrFrom16(b)
		case !v6 && a.GetIpv4() != 0:
			return ipv4(a.GetIpv4())
		}
	}
	return netip.Addr{}
}

// isTunnel reports whether o is an Outer Header Creation of a GTP-U tunnel.
func isTunnel(o *api.OuterHeaderCreation) bool {
	return o != nil && o.GetEncapsulation() == api.Encapsulation_GTPU
}

// size returns how many octets w adds.
func (w *Wrap) size() int {
	size := inet.LenIPv4
	if w.Peer.Is6() {
		size = inet.LenIPv6
	}
	if w.UDP {
		size += inet.LenUDP
	}
	return size
}

// local returns the address from which w's packets come; not valid: there is
// none.
func (s *Stages) local(w *Wrap) netip.Addr {
	if w.Local.IsValid() || s.Links == nil {
		return w.Local
	}
	return s.Links.Router(w.Peer.Is6())
}

// wrap puts the header of r's Wrap around a T-PDU. All pieces of a packet go the
// way of the whole one.
func (s *Stages) wrap(r *Rule, tpdu []byte, whole user) []byte {
	w, tos, label := r.Wrap, byte(0), uint32(0)
	if !r.Opaque {
		tos, label = whole.dscp()<<2, outerFlowLabel(whole.flow())
	}
	if w.DSCP >= 0 {
		tos = byte(w.DSCP) << 2
	}
	local := s.local(w)
	if w.UDP {
		d := Datagram{
			From: netip.AddrPortFrom(local, w.Port), To: netip.AddrPortFrom(w.Peer, w.Port),
			DSCP: tos >> 2, FlowLabel: label, Payload: tpdu,
		}
		b := d.Packet()
		if !w.Peer.Is6() { // what is inside may have no checksum of its own
			binary.BigEndian.PutUint16(b[inet.LenIPv4+6:], UpperChecksum(b, inet.ProtoUDP, inet.LenIPv4))
		}
		return b
	}
	proto := byte(protoIPv4)
	if user(tpdu).isIPv6() {
		proto = protoIPv6
	}
	if !w.Peer.Is6() {
		b := packet4(proto, tos, local, w.Peer, tpdu)
		b[6], b[10], b[11] = flagDF>>8, 0, 0 // it fits, and has no Identification
		binary.BigEndian.PutUint16(b[10:], checksum.Of(b[:inet.LenIPv4]))
		return b
	}
	b := header6(proto, tos, local, w.Peer, ttlOuter, tpdu)
	binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)|label&0xfffff)
	return b
}

// tunnelPeers returns the far ends of the tunnels on N6 of an unstructured session,
// which is all that its packets come from.
//
// Source: TS 23.501 V18.8.0, 5.6.10.3.
func tunnelPeers(s *api.Session) []netip.AddrPort {
	var peers []netip.AddrPort
	for _, r := range s.GetRules() {
		ohc := r.GetForward().GetOuterHeaderCreation()
		if ohc == nil || ohc.GetEncapsulation() != api.Encapsulation_UDP {
			continue
		}
		if p := netip.AddrPortFrom(peer(ohc), uint16(ohc.GetPort())); !slices.Contains(peers, p) {
			peers = append(peers, p)
		}
	}
	return peers
}

// isPeer reports whether a datagram comes from a far end of r's tunnels, whose port
// is the near end's, too.
func (r *Rule) isPeer(u user) bool {
	up := u.upper()
	if up.protocol != inet.ProtoUDP || len(up.payload) < inet.LenUDP {
		return false
	}
	from, to := binary.BigEndian.Uint16(up.payload), binary.BigEndian.Uint16(up.payload[2:])
	return from == to && slices.Contains(r.Peers, netip.AddrPortFrom(u.source(), from))
}

// unwrap is Outer Header Removal of what is not GTP-U: it returns what is inside
// a packet that came bare.
//
// Source: TS 29.244 V18.6.0, 8.2.64.
func (r *Rule) unwrap(u user) (user, datapath.Reason) {
	inside, ok := u.inside(r.Unwrap)
	if !ok || r.Opaque && !r.isPeer(u) {
		return nil, datapath.DropUnwrap
	}
	if r.Opaque {
		return inside, datapath.ReasonNone
	}
	return parseUser(inside)
}

func (u user) inside(kind api.Unwrap) ([]byte, bool) {
	up := u.upper()
	at := len(u) - len(up.payload)
	whole := up.payload != nil && (u.isIPv6() || binary.BigEndian.Uint16(u[6:])&maskFragment == 0)
	switch {
	case !whole:
		return nil, false
	case kind == api.Unwrap_UNWRAP_IP:
		return up.payload, up.protocol == protoIPv4 || up.protocol == protoIPv6
	case up.protocol != inet.ProtoUDP || len(up.payload) < inet.LenUDP:
		return nil, false
	}
	size, sum := int(binary.BigEndian.Uint16(up.payload[4:])), binary.BigEndian.Uint16(up.payload[6:])
	if size < inet.LenUDP || size > len(up.payload) || sum != 0 && !u[:at+size].upperSumRight(inet.ProtoUDP, at) {
		return nil, false
	}
	return up.payload[inet.LenUDP:size], true
}

// detectOpaque is detect for a tunnel of an unstructured PDU session: nobody looks
// into its T-PDUs, so nothing is compared but the QFI.
func detectOpaque(candidates []*Rule, qfi func(*Rule) bool) (*Rule, datapath.Reason) {
	for _, r := range candidates {
		if qfi(r) {
			return r, datapath.ReasonNone
		}
	}
	return nil, datapath.DropQFI
}
