package conformance

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// One UPF that is both ends of S5/S8-U or N9: sgw is the side of the gNB, pgw that of
// N6, and each sends to an F-TEID of the other at an address of the UPF's own.
//
//	gNB 0x151 ◄─ 0x51 sgw 0x52 ◄── 10.9.0.1, 10.3.0.1 ──► 0x53 pgw ◄─► N6
const sgw, pgw = 20, 21

// at gives a rule the F-TEID that it has, at address local.
func at(r *api.Rule, local netip.Addr) {
	f := &api.FTEID{Teid: r.Detect.FTeid.Teid}
	if local.Is6() {
		f.Ipv6 = local.AsSlice()
	} else {
		f.Ipv4 = ipv4(local)
	}
	r.Detect.FTeid = f
}

// sgwSession sends uplink to 0x53 at address to, and has 0x52 at address own.
func sgwSession(own, to netip.Addr) *api.Session {
	up := relay(1, 0x51, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x53, to))
	down := relay(2, 0x52, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x151, GNBAddress))
	at(down, own)
	up.UrrIds, down.UrrIds = []uint32{1}, []uint32{1}
	return &api.Session{Seid: sgw, Rules: []*api.Rule{up, down}, Urrs: []*api.URR{{Id: 1}}}
}

// pgwSession sends downlink to 0x52 at address to, and has 0x53 at address own.
func pgwSession(own, to netip.Addr) *api.Session {
	s := session(pgw, 0x53, ue9)
	s.Rules[1].Forward.OuterHeaderCreation = tunnel(0x52, to)
	at(s.Rules[0], own)
	s.Qers, s.Urrs = nil, []*api.URR{{Id: 2}}
	for _, r := range s.Rules {
		r.QerIds, r.UrrIds = nil, []uint32{2}
	}
	return s
}

// marking has the session's rules mark QFI 9.
func marking(s *api.Session) {
	s.Qers = []*api.QER{{Id: 1, Qfi: 9}}
	for _, r := range s.Rules {
		r.QerIds = []uint32{1}
	}
}

// gating closes a gate, on the way of downlink packets or uplink ones.
func gating(uplink bool) func(s *api.Session) {
	return func(s *api.Session) {
		marking(s)
		s.Qers[0] = &api.QER{Id: 1, UplinkGateClosed: uplink, DownlinkGateClosed: !uplink}
	}
}

func bufferingDown(s *api.Session) {
	s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF, Notify: true}
}

// by is how a rule counts a packet, and its URR, beside the row.
func by(seid uint64, pdr uint32, octets uint64) packet {
	p := packet{port: N3, seid: seid, pdr: pdr, octets: octets, urrs: []uint32{1}, downlink: pdr == 2}
	if seid == pgw {
		p.urrs = []uint32{2}
	}
	return p
}

// overDown is a row of a packet that both sessions count, in as it comes to the gNB's
// side and out as it leaves there.
func overDown(u user, out string) packet {
	p := by(sgw, 2, uint64(len(u.bytes())))
	p.port, p.in, p.want = N6, onN6(u), outN3(GNBAddress, GNBMAC, port9, 0, gpdu(out, hop(u)))
	p.also = []packet{by(pgw, 2, p.octets)}
	return p
}

func overUp(u user, in string) packet {
	p := by(pgw, 1, uint64(len(u.bytes())))
	p.in, p.want = onN3(gpdu(in, u)), outN6(GatewayMAC, hop(u))
	p.also = []packet{by(sgw, 1, p.octets)}
	return p
}

// ends is a row of a packet that the first session counts and sends on, and for which
// the second one has a reason not to, as its own rule, or as no one's.
func ends(p packet, reason datapath.Reason, seid uint64, events ...*api.Event) packet {
	p.want, p.reason, p.urrs, p.events = nil, reason, nil, events
	p.seid = seid
	return p
}

const up4G, down4G = "30ff LEN 00000051", "30ff LEN 00000151"

var ownScripts = []script{
	{"own F-TEID, both ways, 4G", []step{
		install(sgwSession(N9Address, N9Address)), install(pgwSession(N9Address, N9Address)),
		frames(2, overUp(up9, up4G)), frames(3, overDown(dn9, down4G)),
	}},
	{"own F-TEID, both ways, container", []step{
		install(sgwSession(N3Address, N9Address)), install(change(pgwSession(N9Address, N3Address), marking)),
		frames(2, overUp(up9, pscUL("00000051"))), frames(3, overDown(dn9, pscDL("00000151"))),
	}},
	{"own F-TEID, the second session's PDR has a QFI", []step{
		install(sgwSession(N3Address, N9Address)), install(change(pgwSession(N9Address, N3Address), func(s *api.Session) { s.Rules[0].Detect.Qfis = []uint32{9} })),
		frames(1, overUp(up9, pscUL("00000051"))),
		frames(1, ends(overUp(up9, up4G), datapath.DropQFI, 0)),
	}},
	{"own F-TEID over IPv6", []step{
		install(sgwSession(N3Address6, N3Address6)), install(change(pgwSession(N3Address6, N3Address6), marking)),
		frames(2, overUp(up9, pscUL("00000051"))), frames(3, overDown(dn9, pscDL("00000151"))),
	}},
	{"own F-TEID, SDF filters in both", []step{
		install(change(sgwSession(N9Address, N9Address), udpOnly)), install(change(pgwSession(N9Address, N9Address), udpOnly)),
		frames(2, overUp(up9, up4G)), frames(3, overDown(dn9, down4G)),
	}},
	{"own F-TEID, no link has a say in the size", []step{
		install(sgwSession(N9Address, N9Address)), install(pgwSession(N9Address, N9Address)),
		frames(1, overUp(size(up9, 1500), up4G)),
		frames(1, slowly(overDown(size(dn9, 1500), down4G))),
	}},
	{"own address, unknown TEID", []step{
		install(sgwSession(N9Address, N9Address)),
		frames(1, ends(overUp(up9, up4G), datapath.DropNoPDR, 0, &api.Event{
			Kind: api.EventKind_ERROR_INDICATION, Seid: sgw, RuleId: 1,
			Tunnel: &api.Tunnel{Teid: 0x53, Ipv4: ipv4(N9Address)},
		})),
		install(pgwSession(N9Address, N9Address)),
		frames(1, overUp(up9, up4G)),
	}},
	{"own F-TEID, spoofed in the second session", []step{
		install(sgwSession(N9Address, N9Address)), install(pgwSession(N9Address, N9Address)),
		frames(1, ends(overUp(from(up9, "10.45.0.99"), up4G), datapath.DropUEAddress, 0)),
	}},
	{"own F-TEID, gates of the second session", []step{
		install(change(sgwSession(N9Address, N9Address), gating(false))), install(change(pgwSession(N9Address, N9Address), gating(true))),
		frames(1, ends(overUp(up9, up4G), datapath.DropGate, pgw)),
		frames(1, ends(overDown(dn9, down4G), datapath.DropGate, sgw)),
	}},
	{"own F-TEID, gate of the first session", []step{
		install(change(sgwSession(N9Address, N9Address), gating(true))), install(change(pgwSession(N9Address, N9Address), gating(false))),
		frames(1, packet{port: N3, in: onN3(gpdu(up4G, up9)), reason: datapath.DropGate, seid: sgw, pdr: 1}),
		frames(1, packet{port: N6, in: onN6(dn9), reason: datapath.DropGate, seid: pgw, pdr: 2}),
	}},
	{"own F-TEID, TTL is taken off once, and its error goes both ways", []step{
		install(sgwSession(N9Address, N9Address)), install(pgwSession(N9Address, N9Address)),
		frames(1, packet{
			port: N3, in: onN3(gpdu(up4G, ttl(up9, 1))), reason: datapath.DropTTL, seid: pgw, pdr: 1,
			also: []packet{by(sgw, 1, size4), by(sgw, 2, uint64(len(expired9)))},
			sent: [][]byte{outN3(GNBAddress, GNBMAC, portExpired9, 48, gpdu(down4G, user{raw: expired9}))[14:]},
		}),
	}},
}

// portExpired9 is the source port of the UPF to ue9, no ports.
const portExpired9 = 0xd89d

// expired9 tells the UE that the TTL of its packet ran out.
var expired9 = icmp4(ttlExceeded, 0, ttl(up9, 1))

func udpOnly(s *api.Session) {
	for _, r := range s.Rules {
		r.Detect.Filters = []*api.Filter{protocol(17)}
	}
}

// data9 is raised by the first packet that waits in the gNB's side.
var data9 = &api.Event{Kind: api.EventKind_DOWNLINK_DATA, Seid: sgw, RuleId: 2}

func left9(octets int) []byte { return overDown(size(dn9, octets), down4G).want[14:] }

var ownBufferScripts = []script{
	{"own F-TEID, the second session buffers and releases", []step{
		install(change(sgwSession(N9Address, N9Address), bufferingDown)), install(pgwSession(N9Address, N9Address)),
		frames(1, ends(overDown(size(dn9, 60), down4G), datapath.PassBuffer, sgw, data9)),
		frames(1, ends(overDown(size(dn9, 61), down4G), datapath.PassBuffer, sgw)),
		install(sgwSession(N9Address, N9Address)), left(left9(60), left9(61)),
		counted(sgw, 2, counters{2, 121, 0}), counted(pgw, 2, counters{2, 121, 0}),
		frames(1, overDown(dn9, down4G)),
	}},
	{"own F-TEID, the first session buffers and releases", []step{
		install(sgwSession(N9Address, N9Address)), install(change(pgwSession(N9Address, N9Address), bufferingDown)),
		frames(1, packet{port: N6, in: onN6(size(dn9, 60)), reason: datapath.PassBuffer, events: []*api.Event{
			{Kind: api.EventKind_DOWNLINK_DATA, Seid: pgw, RuleId: 2},
		}}),
		frames(1, packet{port: N6, in: onN6(size(dn9, 61)), reason: datapath.PassBuffer}),
		install(pgwSession(N9Address, N9Address)), left(left9(60), left9(61)),
		counted(sgw, 2, counters{2, 121, 0}), counted(pgw, 2, counters{2, 121, 0}),
		frames(1, overDown(dn9, down4G)),
	}},
	{"own F-TEID, both sessions buffer, and the first one releases into the second one's", []step{
		install(change(sgwSession(N9Address, N9Address), bufferingDown)), install(change(pgwSession(N9Address, N9Address), bufferingDown)),
		frames(1, packet{port: N6, in: onN6(size(dn9, 60)), reason: datapath.PassBuffer, events: []*api.Event{
			{Kind: api.EventKind_DOWNLINK_DATA, Seid: pgw, RuleId: 2},
		}}),
		install(pgwSession(N9Address, N9Address)), left(), raised(data9),
		frames(1, ends(overDown(size(dn9, 61), down4G), datapath.PassBuffer, sgw)),
		install(sgwSession(N9Address, N9Address)), left(left9(60), left9(61)),
	}},
	{"own F-TEID, what waits is dropped with the second session", []step{
		install(change(sgwSession(N9Address, N9Address), bufferingDown)), install(pgwSession(N9Address, N9Address)),
		frames(1, ends(overDown(dn9, down4G), datapath.PassBuffer, sgw, data9)),
		remove(sgw), drops(datapath.DropBufferEnd, 1), left(),
	}},
	{"End Marker to an own F-TEID is relayed by the session that has it", []step{
		install(sgwSession(N9Address, N9Address)), install(pgwSession(N9Address, N9Address)),
		apply(&api.Change{
			Seid: pgw, Session: change(pgwSession(N9Address, N9Address), func(s *api.Session) { s.Rules[1].Forward.OuterHeaderCreation = tunnel(0x252, PeerAddress) }),
			EndMarkers: endsOf(tunnel(0x52, N9Address)),
		}),
		left(told(N3Address, GNBAddress, "30fe 0000 00000151")...),
	}},
	{"End Marker to an own F-TEID that ends there", []step{
		install(sgwSession(N9Address, N9Address)), install(pgwSession(N9Address, N9Address)),
		frames(1, packet{port: N3, in: onN3(message("30fe LEN 00000051", nil)), reason: datapath.PassSignalling}),
		apply(&api.Change{Seid: sgw, Session: sgwSession(N9Address, N9Address), EndMarkers: endsOf(tunnel(0x53, N9Address))}), left(),
	}},
}

// ring is a session that sends from 0x54 to 0x55 and from there to 0x54.
func ring(f func(s *api.Session)) *api.Session {
	return change(&api.Session{Seid: sgw, Rules: []*api.Rule{
		relay(1, 0x54, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x55, N9Address)),
		relay(2, 0x55, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x54, N3Address)),
	}}, f)
}

// looped is the row of a packet to 0x54 that is dropped when it has been through all
// F-TEIDs that it may.
func looped(in string) packet {
	p := packet{port: N3, in: onN3(gpdu(in, up9)), reason: datapath.DropLoop}
	for i := range uint32(datapath.MaxPasses + 1) {
		p.also = append(p.also, packet{seid: sgw, pdr: 1 + i%2, octets: size4})
	}
	return p
}

var loopScripts = []script{
	{"own F-TEIDs in a loop of two", []step{
		install(ring(plainly)),
		frames(3, looped("30ff LEN 00000054")), frames(1, looped(pscUL("00000054"))), drops(datapath.DropLoop, 4),
	}},
	{"own F-TEIDs in a loop of which one is another datapath's part", []step{
		install(ring(func(s *api.Session) { s.Rules[1].Detect.Filters = manyFilters() })),
		frames(2, looped("30ff LEN 00000054")),
		install(ring(func(s *api.Session) { s.Rules[0].Detect.Filters = manyFilters() })),
		frames(2, looped("30ff LEN 00000054")),
	}},
	{"End Marker in a loop", []step{
		install(ring(plainly)),
		frames(1, packet{port: N3, in: onN3(message("30fe LEN 00000054", nil)), reason: datapath.PassSignalling}),
	}},
	{"own F-TEIDs in a row, as many as there may be", []step{
		install(chain(datapath.MaxPasses)),
		frames(1, chained(datapath.MaxPasses)),
		install(chain(datapath.MaxPasses + 1)),
		frames(1, altered(chained(datapath.MaxPasses+1), func(p *packet) { p.want, p.reason, p.seid = nil, datapath.DropLoop, 0 })),
	}},
	{"a PDR that sends to its own F-TEID is refused", []step{
		refuse(ring(func(s *api.Session) { s.Rules[1].Forward.OuterHeaderCreation = tunnel(0x55, N9Address) }), datapath.ErrUnsupported, farRule, 2),
		frames(1, packet{port: N3, in: onN3(gpdu("30ff LEN 00000054", up9)), reason: datapath.DropNoPDR, sent: errorIndication("00000054")}),
	}},
}

// manyFilters are more than a list of the programs has.
func manyFilters() []*api.Filter {
	all := []*api.Filter{protocol(17)}
	for i := range uint32(300) {
		all = append(all, &api.Filter{RemotePorts: ports(20000+i, 20000+i)})
	}
	return all
}

// chain is a session of which a packet to 0x60 goes through n F-TEIDs more.
func chain(n uint32) *api.Session {
	s := &api.Session{Seid: sgw}
	for i := range n {
		s.Rules = append(s.Rules, relay(1+i, 0x60+i, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x61+i, N9Address)))
	}
	s.Rules = append(s.Rules, relay(1+n, 0x60+n, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x160, PeerAddress)))
	for _, r := range s.Rules[1:] {
		at(r, N9Address)
	}
	return s
}

func chained(n uint32) packet {
	p := packet{
		port: N3, in: onN3(gpdu("30ff LEN 00000060", up9)), want: outN9(port9, gpdu("30ff LEN 00000160", up9)),
		seid: sgw, pdr: 1 + n, octets: size4,
	}
	for i := range n {
		p.also = append(p.also, packet{seid: sgw, pdr: 1 + i, octets: size4})
	}
	return p
}

func altered(p packet, f func(p *packet)) packet {
	f(&p)
	return p
}

var allOwnScripts = slices.Concat(ownScripts, ownBufferScripts, loopScripts)
