package upf

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Stages, in the order in which a packet goes through them.
var stageNames = []string{"parse", "detect", "forward", "enforce", "measure", "emit"}

// stagesOf says where packets end, by the label of the reason. What is not here
// ends in forward.
var stagesOf = map[string]string{
	"ip_short": "parse", "ip_version": "parse", "gtpu_short": "parse", "gtpu_version": "parse", "gtpu_ext": "parse",
	"gtpu_ext_type": "parse", "host": "parse", "signalling": "parse", "fragment": "parse",
	"no_pdr": "detect", "ue_address": "detect", "qfi": "detect", "sdf_filter": "detect", "changing": "detect",
	"rules": "detect", "answer": "detect",
	"gate": "enforce", "mbr": "enforce", "packet_rate": "enforce", "quota": "enforce",
	"internal": "emit",
}

// explainer tells in words what became of packets.
type explainer struct {
	api  *localAPI
	hops map[hopAt]netip.Addr // next hops, as of
	read time.Time
}

// hopAt is what a frame says of its next hop.
type hopAt struct {
	mac  string
	ipv6 bool
}

// explain returns what a person wants to know of a packet.
func (x *explainer) explain(p *datapath.TracePacket) *TracePacket {
	in, out := dissect(&p.Arrived), dissect(&p.Left)
	user := &in
	if !in.ends[0].IsValid() {
		user = &out
	}
	v := &TracePacket{
		At: p.At, TookNs: p.Took.Nanoseconds(), CPU: p.CPU, Place: "program", Octets: user.octets, Flow: user.flow(),
		TEID: TEID(p.TEID), Arrived: viewFrame(&p.Arrived), Left: viewFrame(&p.Left),
	}
	if p.Slow {
		v.Place = "slow path"
	}
	if v.TEID == 0 {
		v.TEID = TEID(max(in.teid, out.teid))
	}
	if v.Octets == 0 {
		v.Octets = max(p.Arrived.Octets, p.Left.Octets)
	}
	v.judge(p)
	s := x.session(p)
	pdr := matched(s, p)
	if s != nil {
		v.SEID = s.SEID
	}
	if pdr != nil {
		v.PDR, v.Direction = pdr.ID, "downlink"
		ue := user.ends[1]
		if pdr.SourceInterface == session.Access.String() {
			v.Direction, ue = "uplink", user.ends[0]
		}
		if ue.IsValid() {
			v.UE = ue.String()
		}
	}
	if s == nil && stageOf(p.Reason) != "detect" {
		v.PDR = uint16(p.PDRID)
	}
	v.Stages = x.stages(p, v, &in, &out, s, pdr)
	return v
}

// judge says what became of the packet.
func (v *TracePacket) judge(p *datapath.TracePacket) {
	switch {
	case p.Answer:
		v.Verdict, v.Text = "answered", "its sender is told"
		return
	case p.Reason == datapath.ReasonNone:
		v.Verdict = "forwarded"
		if p.Arrived.Octets == 0 {
			v.Text = "out of the buffer"
		}
		return
	case p.Reason == datapath.PassBuffer:
		v.Verdict = "buffered"
	case p.Reason.IsDrop():
		v.Verdict = "dropped"
	default:
		v.Verdict = "handed on"
	}
	v.Reason, v.Text = p.Reason.String(), p.Reason.Text()
}

func viewFrame(f *datapath.TraceFrame) *TraceFrame {
	if f.Octets == 0 {
		return nil
	}
	return &TraceFrame{Device: f.Device, IP: f.IP, Octets: f.Octets, Data: f.Data}
}

// session returns the session of a packet as it is now, or nil.
func (x *explainer) session(p *datapath.TracePacket) *Session {
	if x.api.sessions == nil {
		return nil // a datapath alone knows no names of rules
	}
	var s *session.Session
	switch k := p.Key; {
	case p.SEID != 0:
		s = x.api.sessions.Get(p.SEID)
	case k.TEID != 0:
		s = x.api.sessions.ByFTEID(fteid(k))
	case k.IPv4 != 0:
		s = x.api.sessions.ByUEAddress(ueAddress(addrFromUint32(k.IPv4)))
	case k.IPv6 != 0:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], k.IPv6)
		s = x.api.sessions.ByUEAddress(ueAddress(netip.AddrFrom16(b)))
	}
	if s == nil {
		return nil
	}
	v := x.api.viewSession(s, "", nil)
	return &v
}

// fteid is the F-TEID of a key.
func fteid(k datapath.Key) session.FTEID {
	f := session.FTEID{TEID: k.TEID}
	switch {
	case k.Local.Is4():
		f.IPv4 = k.Local.As4()
	case k.Local.Is6():
		f.IPv6 = k.Local.As16()
	}
	return f
}

// leads reports whether packets of key k are found by f.
func (f *FTEID) leads(k datapath.Key) bool {
	return uint32(f.TEID) == k.TEID && (f.IPv4 == k.Local || f.IPv6 == k.Local || !k.Local.IsValid())
}

// matched returns the PDR that a packet matched, or nil: that of its PDR ID, or
// the only one of its key.
func matched(s *Session, p *datapath.TracePacket) *PDR {
	if s == nil || stageOf(p.Reason) == "detect" {
		return nil
	}
	var found *PDR
	for i := range s.Rules.PDRs {
		r := &s.Rules.PDRs[i]
		switch {
		case p.PDRID != 0:
			if uint32(r.ID) == p.PDRID {
				return r
			}
		case p.Key.TEID != 0 && r.FTEID != nil && r.FTEID.leads(p.Key),
			p.Key.TEID == 0 && r.FTEID == nil && len(r.UEAddresses) > 0:
			if found != nil {
				return nil // the trace does not say which
			}
			found = r
		}
	}
	return found
}

// stageOf says in which stage a packet ended; "" if it was sent.
func stageOf(r datapath.Reason) string {
	if r == datapath.ReasonNone {
		return ""
	}
	if stage := stagesOf[r.String()]; stage != "" {
		return stage
	}
	return "forward"
}

// stages tells what each stage found and did, up to the one in which the packet
// ended.
func (x *explainer) stages(p *datapath.TracePacket, v *TracePacket, in, out *dissected, s *Session, pdr *PDR) []string {
	texts := map[string]string{"parse": parseText(p, in), "emit": x.emitText(p, out)}
	if pdr != nil {
		texts["detect"] = detectText(p, s, pdr)
		texts["forward"] = forwardText(s, pdr)
		texts["enforce"] = enforceText(s, pdr, v.Direction == "uplink")
		texts["measure"] = measureText(pdr, v.Octets)
	}
	last := stageOf(p.Reason)
	if p.Answer {
		return []string{"parse: " + texts["parse"], "emit: its sender is told: " + out.flow() + ", " + texts["emit"]}
	}
	var list []string
	for _, name := range stageNames {
		text := texts[name]
		if name == last {
			text = strings.TrimPrefix(text+": "+v.Verdict+": "+v.Text+" ("+v.Reason+")", ": ")
		}
		if text != "" {
			list = append(list, name+": "+text)
		}
		if name == last {
			break
		}
	}
	return list
}

func parseText(p *datapath.TracePacket, in *dissected) string {
	switch {
	case p.Arrived.Octets == 0:
		return "out of the buffer"
	case in.isSignal:
		return fmt.Sprintf("GTP-U message of type %d, %s > %s", in.signal, in.outer[0], in.outer[1])
	case in.outer[0].IsValid():
		text := fmt.Sprintf("G-PDU %s > %s, TEID %s", in.outer[0], in.outer[1], TEID(in.teid))
		if in.hasQFI {
			text += fmt.Sprintf(", QFI %d", in.qfi)
		}
		return fmt.Sprintf("%s on %s, user packet of %d octets", text, p.Arrived.Device, in.octets)
	}
	return fmt.Sprintf("%d octets on %s", p.Arrived.Octets, p.Arrived.Device)
}

func detectText(p *datapath.TracePacket, s *Session, pdr *PDR) string {
	by := "UE address " + strings.Join(pdr.UEAddresses, ", ")
	if pdr.FTEID != nil {
		by = "F-TEID " + pdr.FTEID.TEID.String()
	}
	text := fmt.Sprintf("PDR %d by %s, precedence %d, session %s", pdr.ID, by, pdr.Precedence, s.SEID)
	if len(pdr.Filters) > 0 {
		text += ", SDF filter " + strings.Join(pdr.Filters, " or ")
	}
	if pdr.ApplicationID != "" {
		text += ", application " + pdr.ApplicationID
	}
	return text
}

func forwardText(s *Session, pdr *PDR) string {
	for i := range s.Rules.FARs {
		f := &s.Rules.FARs[i]
		if pdr.FARID == nil || f.ID != *pdr.FARID {
			continue
		}
		text := fmt.Sprintf("FAR %d %s", f.ID, f.ApplyAction)
		if f.DestinationInterface != "" {
			text += " to " + f.DestinationInterface
		}
		if o := f.OuterHeaderCreation; o != nil {
			text += ", " + o.explain()
		}
		if f.Incomplete {
			text += ", no tunnel yet"
		}
		return text
	}
	if pdr.FARID == nil {
		return "no FAR yet"
	}
	return fmt.Sprintf("FAR %d", *pdr.FARID)
}

func enforceText(s *Session, pdr *PDR, uplink bool) string {
	var list []string
	for _, id := range pdr.QERIDs {
		for i := range s.Rules.QERs {
			if q := &s.Rules.QERs[i]; q.ID == id {
				list = append(list, qerText(q, uplink))
			}
		}
	}
	return strings.Join(list, "; ")
}

func qerText(q *QER, uplink bool) string {
	closed, mbr, gbr := q.DownlinkGateClosed, q.DownlinkMBR, q.DownlinkGBR
	if uplink {
		closed, mbr, gbr = q.UplinkGateClosed, q.UplinkMBR, q.UplinkGBR
	}
	text := fmt.Sprintf("QER %d gate open", q.ID)
	if closed {
		text = fmt.Sprintf("QER %d gate closed", q.ID)
	}
	for _, r := range []struct {
		name string
		bps  *uint64
	}{{"MBR", mbr}, {"GBR", gbr}} {
		if r.bps != nil {
			text += fmt.Sprintf(", %s %d bit/s", r.name, *r.bps)
		}
	}
	if q.QFI != 0 {
		text += fmt.Sprintf(", QFI %d", q.QFI)
	}
	return text
}

func measureText(pdr *PDR, octets int) string {
	var list []string
	for _, id := range pdr.URRIDs {
		list = append(list, fmt.Sprintf("URR %d", id))
	}
	return strings.Join(append(list, fmt.Sprintf("%d octets", octets)), ", ")
}

// emitText says by which device and to whom a packet left.
func (x *explainer) emitText(p *datapath.TracePacket, out *dissected) string {
	if p.Left.Octets == 0 {
		return ""
	}
	text := fmt.Sprintf("%d octets on %s", p.Left.Octets, p.Left.Device)
	if out.outer[1].IsValid() {
		text += fmt.Sprintf(" to %s, TEID %s", out.outer[1], TEID(out.teid))
		if out.hasQFI {
			text += fmt.Sprintf(", QFI %d", out.qfi)
		}
		return text
	}
	if len(p.Left.Data) < 6 || p.Left.IP {
		return text
	}
	mac := net.HardwareAddr(p.Left.Data[:6]).String()
	if hop := x.hop(hopAt{mac, out.ends[1].Is6()}); hop.IsValid() {
		return text + " by way of " + hop.String()
	}
	return text + " to " + mac
}

// hop returns the next hop of a frame.
func (x *explainer) hop(at hopAt) netip.Addr {
	d, ok := x.api.forwarder().(datapath.PeerReporter)
	if ok && time.Since(x.read) > time.Second {
		x.hops, x.read = map[hopAt]netip.Addr{}, time.Now()
		for _, p := range d.Peers() {
			x.hops[hopAt{p.MAC, p.Address.Is6()}] = p.Address
		}
	}
	return x.hops[at]
}
