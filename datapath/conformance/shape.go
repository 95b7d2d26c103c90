package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Shape makes a sequence of changes out of arbitrary octets: sessions that come,
// change and go, of all that the contract has, and now and then of what has to
// be refused. TEIDs and addresses are few, so that they clash, and are those of
// [Frames]. MBRs are 0 or so high that they let all through: what they do
// depends on the time.
func Shape(choices []byte) []*api.Change {
	d := &dice{choices}
	var changes []*api.Change
	for len(d.left) > 0 && len(changes) < 12 {
		seid := uint64(1 + d.roll(3))
		c := &api.Change{Seid: seid, DropBuffered: d.roll(8) == 7}
		if d.roll(6) != 5 {
			c.Session = d.session(seid)
		}
		if d.roll(8) == 7 {
			c.EndMarkers = []*api.EndMarker{{Tunnel: d.peer(), Qfi: uint32(d.roll(70)), DestinationInterface: api.Interface(d.roll(3))}}
		}
		changes = append(changes, c)
	}
	return changes
}

// dice take choices out of octets; when there are none left, always the first.
type dice struct{ left []byte }

func (d *dice) roll(sides int) int {
	if len(d.left) == 0 {
		return 0
	}
	n := int(d.left[0]) % sides
	d.left = d.left[1:]
	return n
}

func pick[T any](d *dice, from ...T) T { return from[d.roll(len(from))] }

func (d *dice) session(seid uint64) *api.Session {
	s := &api.Session{Seid: seid}
	for id := range uint32(d.roll(4)) {
		s.Qers = append(s.Qers, d.qer(id+1))
	}
	for id := range uint32(d.roll(4)) {
		s.Urrs = append(s.Urrs, d.urr(id+1))
	}
	if d.roll(4) == 3 {
		s.Bars = []*api.BAR{{Id: 1, Packets: uint32(d.roll(3))}}
	}
	for id := range uint32(d.roll(6)) {
		r := d.rule(id + 1)
		for _, q := range s.Qers {
			if d.roll(2) == 1 {
				r.QerIds = append(r.QerIds, q.Id)
			}
		}
		for _, u := range s.Urrs {
			if d.roll(2) == 1 {
				r.UrrIds = append(r.UrrIds, u.Id)
			}
		}
		if len(s.Bars) > 0 {
			r.Forward.BarId = 1
		}
		s.Rules = append(s.Rules, r)
	}
	d.rare(s)
	return s
}

func (d *dice) qer(id uint32) *api.QER {
	return &api.QER{
		Id: id, Qfi: pick(d, uint32(0), 9, 5, 63), UplinkGateClosed: d.roll(8) == 7, DownlinkGateClosed: d.roll(8) == 7,
		UplinkMbrBps: pick(d, uint64(0), 1e12), DownlinkMbrBps: pick(d, uint64(0), 1e12), Shared: pick(d, uint32(0), 0, 7),
	}
}

func (d *dice) urr(id uint32) *api.URR {
	limit := func() *api.Volume {
		return &api.Volume{
			Total: pick(d, uint64(0), 0, 60, 61, 200), Uplink: pick(d, uint64(0), 0, 60, 121), Downlink: pick(d, uint64(0), 0, 60, 121),
		}
	}
	return &api.URR{Id: id, Threshold: limit(), Quota: limit(), StartOfTraffic: d.roll(2) == 1}
}

func (d *dice) rule(id uint32) *api.Rule {
	r := &api.Rule{
		PdrId: id, FarId: id, Precedence: id,
		Detect: &api.Detect{
			SourceInterface: pick(d, api.Interface_ACCESS, api.Interface_CORE, api.Interface_CORE, api.Interface_SGI_LAN, api.Interface_CP_FUNCTION),
		},
		Forward: &api.Forward{
			Action:               pick(d, api.Action_FORW, api.Action_FORW, api.Action_FORW, api.Action_DROP, api.Action_BUFF),
			DestinationInterface: pick(d, api.Interface_ACCESS, api.Interface_CORE, api.Interface_SGI_LAN, api.Interface_CP_FUNCTION),
			NetworkInstance:      pick(d, "", "n9"),
			Notify:               d.roll(2) == 1,
		},
	}
	if d.roll(4) == 3 {
		dscp := pick(d, uint32(0), 46)
		r.Forward.Dscp = &dscp
	}
	if ue := d.ue(); ue.GetIpv4() != 0 || ue.GetIpv6Prefix() != 0 {
		r.Detect.UeAddress = ue
	}
	// One in sixteen is a rule that makes no sense.
	senseless := d.roll(16) == 15
	source, to := r.Detect.SourceInterface, r.Forward.DestinationInterface
	if d.roll(3) == 2 || !senseless &&
		(source == api.Interface_ACCESS || source == api.Interface_CP_FUNCTION || r.Detect.UeAddress == nil) {
		r.Detect.FTeid = &api.FTEID{Teid: pick(d, uint32(1), 2, 0x20, 0x30, 0x31, 0xdeadbe01), Ipv4: ipv4(N3Address)}
		r.OuterHeaderRemoval = true
		r.Detect.Qfis = pick(d, nil, nil, []uint32{9}, []uint32{1, 2, 3, 5, 9})
	}
	if d.roll(3) == 2 || !senseless &&
		(to == api.Interface_ACCESS || to == api.Interface_CP_FUNCTION || r.Detect.FTeid == nil) {
		r.Forward.OuterHeaderCreation = d.peer()
	}
	if d.roll(3) == 2 {
		r.Detect.Filters = []*api.Filter{d.filter(), d.filter()}
	}
	return r
}

func (d *dice) peer() *api.OuterHeaderCreation {
	return tunnel(pick(d, uint32(0x101), 0x102), pick(d, GNBAddress, GNBAddress2, PeerAddress, GNBAddress6))
}

func (d *dice) ue() *api.UEAddress {
	return pick(d,
		&api.UEAddress{Ipv4: ipv4(ue1)}, &api.UEAddress{Ipv4: ipv4(ue1), Ipv6Prefix: ipv6Prefix(ue16)},
		&api.UEAddress{Ipv4: ipv4(ue8)}, &api.UEAddress{Ipv4: ipv4(ue9)}, &api.UEAddress{Ipv6Prefix: ipv6Prefix(ue16)},
		&api.UEAddress{})
}

func (d *dice) filter() *api.Filter {
	f := &api.Filter{Remote: pick(d, nil, prefix("198.18.0.0/16"), prefix("2001:db8:99::/48")), Local: pick(d, nil, nil, prefix("10.45.0.0/24"))}
	if number := pick(d, 0, 0, uint32(17), 58); number != 0 {
		f.Protocol = &number
	}
	if d.roll(4) == 3 {
		f.RemotePorts = pick(d, ports(9, 9), ports(1000, 1999))
	}
	if d.roll(8) == 7 {
		f.Tos, f.TosMask = 0xb8, 0xfc
	}
	return f
}

// Addresses and TEIDs of the shapes and of the table, for frames that meet them.
var shapeUEs = []netip.Addr{ue1, ue8, ue9, ue16}

// ShapeFrames returns frames that meet the rules of [Shape]: each TEID and each
// UE address, both ways.
func ShapeFrames() (n3, n6 [][]byte) {
	for _, ue := range shapeUEs {
		remote := far
		if ue.Is6() {
			remote = far6
		}
		up := user{src: ue, dst: remote, ttl: 64, port: 1000, payload: 32}
		down := user{src: remote, dst: ue, ttl: 64, port: 1000, payload: 32, tos: 0xb8}
		n6 = append(n6, onN6(down))
		for _, teid := range []string{"00000001", "00000002", "00000020", "00000030", "00000031", "deadbe01"} {
			n3 = append(n3, onN3(gpdu(pscUL(teid), up)), onN3(gpdu("30ff LEN "+teid, down)))
		}
	}
	return n3, n6
}
