package stages

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// Signal treats a GTP-U message other than a G-PDU, or one that
// [Stages.Tunnelled] refused with reason, and returns what is to be sent. Who
// sends answers to strangers limits their rate: see [Limiter].
//
//   - Echo Request: answered.
//   - End Marker: goes on through the tunnels of the rules that forward.
//   - Error Indication: raises ERROR_INDICATION for each session that sends there.
//   - G-PDU to a TEID that nobody has: Error Indication.
//   - extension header that had to be comprehended: Supported Extension Headers
//     Notification.
//
// Echo Responses are the path management's; all else is passed over.
//
// Source: TS 29.281 V18.1.0, 7.2 and 7.3.
func (s *Stages) Signal(d Datagram, reason datapath.Reason) []Datagram {
	switch reason {
	case datapath.DropNoPDR:
		h, _ := gtpu.ParseRelayed(d.Payload) // it did once
		about := gtpu.Tunnel{TEID: h.TEID(), Peer: d.To.Addr()}
		if about.TEID == 0 { // of signalling: no tunnel can have it
			return nil
		}
		return d.tell(gtpu.AppendErrorIndication(nil, about, d.From.Port()))
	case datapath.DropGTPUExtType:
		return d.tell(gtpu.AppendSupportedExtensionHeaders(nil))
	case datapath.PassSignalling:
	default:
		return nil
	}
	h, err := gtpu.ParseRelayed(d.Payload)
	if err != nil {
		return nil
	}
	switch h.Type() {
	case gtpu.EchoRequest:
		seq, _ := h.Sequence()
		return []Datagram{{From: d.To, To: d.From, Payload: gtpu.AppendEchoResponse(nil, seq)}}
	case gtpu.EndMarker:
		return s.relayEndMarker(h, d.To.Addr(), d.Passes)
	case gtpu.ErrorIndication:
		s.errorIndication(d)
	}
	return nil
}

// tell makes a message to the GTP-U port of the one who sent d.
// Source: TS 29.281 V18.1.0, 4.4.2.
func (d *Datagram) tell(payload []byte) []Datagram {
	return []Datagram{{From: d.To, To: netip.AddrPortFrom(d.From.Addr(), gtpu.Port), Payload: payload}}
}

// relayEndMarker returns an End Marker to each tunnel into which packets of the
// F-TEID go; passes as in [Sent]. One with a PDU Session Container is about packets
// with its QFI: it goes into the tunnels in which these are, with the container.
//
// Source: TS 23.501 V18.8.0, 5.8.2.9; TS 29.281 V18.1.0, 7.3.2 and figure 5.2.1-2.
func (s *Stages) relayEndMarker(h gtpu.Header, local netip.Addr, passes int) []Datagram {
	var out []Datagram
	_, flow := h.QFI()
	told := map[gtpu.Tunnel]bool{}
	for _, r := range s.Tables.Candidates(datapath.Key{TEID: h.TEID(), Local: local}) {
		if flow && !r.matchQFI(h) {
			continue
		}
		if r.Action == api.Action_FORW && r.Outer != nil {
			if t := (gtpu.Tunnel{TEID: r.Outer.TEID, Peer: r.Outer.Peer}); !told[t] {
				told[t] = true
				out = append(out, r.endMarker(t, h, flow, passes))
			}
		}
		if flow && r.takesAll() {
			break // no packet of the flow gets to the next
		}
	}
	return out
}

// takesAll reports whether the PDI has nothing beside key and QFIs.
func (r *Rule) takesAll() bool {
	return !r.UEIPv4.IsValid() && !r.UEIPv6.IsValid() && len(r.Routes) == 0 && len(r.Filters) == 0 && r.Ethernet == nil
}

// endMarker returns an End Marker into t, the tunnel of r; flow: it is about the
// flow that h names.
func (r *Rule) endMarker(t gtpu.Tunnel, h gtpu.Header, flow bool, passes int) Datagram {
	d := Datagram{From: netip.AddrPortFrom(r.Outer.Local, gtpu.Port), To: netip.AddrPortFrom(t.Peer, gtpu.Port), Passes: passes}
	if flow {
		d.Payload = gtpu.ToEndMarker(r.AppendHeader(nil, h, 0))
	} else {
		d.Payload = gtpu.AppendEndMarker(nil, t.TEID, 0, 0)
	}
	return d
}

// Ended returns the tunnel that an End Marker is about.
func Ended(m *api.EndMarker) gtpu.Tunnel {
	return gtpu.Tunnel{TEID: m.GetTunnel().GetTeid(), Peer: peer(m.GetTunnel())}
}

// EndMarker returns the message, sent from local.
// Source: TS 29.281 V18.1.0, 7.3.2.
func EndMarker(m *api.EndMarker, local netip.Addr) Datagram {
	pduType := byte(gtpu.PDUTypeUplink)
	if m.GetDestinationInterface() == api.Interface_ACCESS {
		pduType = gtpu.PDUTypeDownlink
	}
	t := Ended(m)
	return Datagram{
		From: netip.AddrPortFrom(local, gtpu.Port), To: netip.AddrPortFrom(t.Peer, gtpu.Port),
		Payload: gtpu.AppendEndMarker(nil, t.TEID, pduType, byte(m.GetQfi())),
	}
}

// errorIndication raises an event for each session that sends into the tunnel,
// about the first of its rules. One that does not come from the peer that it is
// about means nothing: it would give anybody the power to end tunnels.
//
// Source: TS 29.244 V18.6.0, 5.10; TS 29.281 V18.1.0, 7.3.1.
func (s *Stages) errorIndication(d Datagram) {
	t, err := gtpu.ParseErrorIndication(d.Payload)
	if err != nil || s.Post == nil || t.Peer != d.From.Addr() {
		return
	}
	told := map[uint64]bool{}
	for _, r := range s.Tables.Towards(t) {
		if told[r.SEID] {
			continue
		}
		told[r.SEID] = true
		s.Post(&api.Event{
			Kind: api.EventKind_ERROR_INDICATION, Seid: r.SEID, RuleId: r.PDRID,
			Tunnel: EventTunnel(t),
		})
	}
}

// EventTunnel is a tunnel, or a peer with TEID 0, as an event names it.
func EventTunnel(t gtpu.Tunnel) *api.Tunnel {
	out := &api.Tunnel{Teid: t.TEID}
	if t.Peer.Is4() {
		out.Ipv4 = ueKey(t.Peer).IPv4
	} else {
		out.Ipv6 = t.Peer.AsSlice()
	}
	return out
}

// Limiter lets so many messages a second through, and a burst of as many.
type Limiter struct {
	PerSecond uint64
	tat       uint64 // ns: when the next one is due
}

// Allow takes one message at time now_ns. It is for one goroutine.
func (l *Limiter) Allow(nowNs uint64) bool {
	const second = 1_000_000_000
	start := max(l.tat, nowNs)
	if l.PerSecond == 0 || start > nowNs+second {
		return false
	}
	l.tat = start + second/l.PerSecond
	return true
}
