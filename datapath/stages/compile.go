package stages

import (
	"encoding/binary"
	"net/netip"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// State is where a driver keeps what outlives a change of rules.
type State interface {
	Counters(r *api.Rule) *Counters
	// Meter is that of a QER which has such a limit in this direction.
	Meter(q *api.QER, kind MeterKind, uplink bool) *Meter
	URR(u *api.URR) URR
	// Local is the source address of packets to peer.
	Local(to datapath.Direction, peer netip.Addr) netip.Addr
	N6() *datapath.N6
}

// Compile makes the rule r of s, which [datapath.Check] has let pass.
func Compile(s *api.Session, r *api.Rule, state State) *Rule {
	d, f := r.GetDetect(), r.GetForward()
	source := d.GetSourceInterface()
	out := &Rule{
		SEID: s.GetSeid(), PDRID: r.GetPdrId(),
		Uplink: datapath.Uplink(source),
		Action: f.GetAction(), Notify: f.GetNotify(),
		NotifyBuffered: f.GetNotifyBuffered(), NotifyDiscarded: f.GetNotifyDiscarded(), Incomplete: f.GetIncomplete(), Spent: f.GetSpent(), BAR: datapath.FindBAR(s, f.GetBarId()),
		Counters: state.Counters(r),
	}
	out.detect(d)
	for _, id := range r.GetQerIds() {
		q := datapath.FindQER(s, id)
		out.Gate = out.Gate || datapath.GateClosed(q, source)
		if out.QFI == 0 {
			out.QFI = byte(q.GetQfi())
		}
		out.Marks.add(q)
		if l := newLimit(q, source, state); l != (Limit{}) {
			out.Limits = append(out.Limits, l)
		}
	}
	if out.Uplink {
		out.Marks = Marks{}
	}
	for _, id := range r.GetUrrIds() {
		out.URRs = append(out.URRs, state.URR(datapath.FindURR(s, id)))
	}
	out.Redirect, out.Copies = newRedirect(f.GetRedirect()), newCopies(s, f.GetDuplicates(), state)
	out.Opaque, out.Unwrap = s.GetPduType() != api.PDUType_IP, r.GetUnwrap()
	out.DropsContainer, out.SlowOnly = r.GetDropsContainer(), datapath.SlowOnly(s, r)
	if out.SlowOnly {
		out.FAR = proto.CloneOf(f)
	}
	if out.Opaque && out.Unwrap == api.Unwrap_UNWRAP_UDP {
		out.Peers = tunnelPeers(s)
	}
	out.Ethernet, out.Bare = newEthernet(s, r), d.GetFTeid() == nil
	if ohc := f.GetOuterHeaderCreation(); isTunnel(ohc) {
		out.Outer = newOuter(f, state)
	} else {
		if ohc != nil && out.Ethernet == nil {
			out.Wrap = newWrap(s, f)
		}
		out.Way = state.N6().Way(f.GetNetworkInstance(), f.GetForwardingPolicy())
		out.LAN = state.N6().Of(out.Way) + 1
	}
	if d.GetFTeid() == nil {
		out.Network = state.N6().Network(d.GetNetworkInstance())
	}
	return out
}

func newLimit(q *api.QER, source api.Interface, state State) (l Limit) {
	uplink := datapath.Uplink(source)
	if datapath.MBR(q, source) != 0 {
		l.MBR = state.Meter(q, MBR, uplink)
	}
	if datapath.GBR(q, source) != 0 {
		l.GBR = state.Meter(q, GBR, uplink)
	}
	if datapath.PacketRate(q, source) != nil {
		l.Packets = state.Meter(q, PacketRate, uplink)
	}
	l.Shared = l != (Limit{}) && q.GetShared() != 0
	return l
}

func (r *Rule) detect(d *api.Detect) {
	if a := d.GetUeAddress().GetIpv4(); a != 0 {
		r.UEIPv4 = ipv4(a)
	}
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], p)
		r.UEIPv6 = netip.PrefixFrom(netip.AddrFrom16(b), 64)
	}
	for _, p := range d.GetFramedRoutes() {
		r.Routes = append(r.Routes, datapath.Route(p))
	}
	for _, q := range d.GetQfis() {
		r.QFIs |= 1 << q
	}
	for _, f := range d.GetFilters() {
		r.Filters = append(r.Filters, newFilter(f))
	}
}

func newOuter(f *api.Forward, state State) *Outer {
	o := &Outer{
		TEID: f.GetOuterHeaderCreation().GetTeid(), Peer: peer(f.GetOuterHeaderCreation()),
		DSCP: -1, ToAccess: f.GetDestinationInterface() == api.Interface_ACCESS, ToCP: f.GetDestinationInterface() == api.Interface_CP_FUNCTION,
	}
	o.Local = state.Local(datapath.DirectionOf(f), o.Peer)
	if f.Dscp != nil {
		o.DSCP = int(f.GetDscp())
	}
	return o
}

func peer(ohc *api.OuterHeaderCreation) netip.Addr {
	if a, ok := netip.AddrFromSlice(ohc.GetIpv6()); ok && a.Is6() {
		return a
	}
	return ipv4(ohc.GetIpv4())
}

func ipv4(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, a)))
}
