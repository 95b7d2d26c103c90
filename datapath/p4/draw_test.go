package p4

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// dice draws sessions and packets out of octets; when there are none left, always the first
// choice.
type dice struct {
	left  []byte
	usual int // what the gNB puts in front of user packets
}

func (d *dice) roll(sides int) int {
	if len(d.left) == 0 {
		return 0
	}
	n := int(d.left[0]) % sides
	d.left = d.left[1:]
	return n
}

// one reports whether a chance of one in n is met.
func (d *dice) one(n int) bool { return d.roll(n) == n-1 }

func pick[T any](d *dice, from ...T) T { return from[d.roll(len(from))] }

// Addresses that rules and packets have in common. Framed routes cover UEs, and each other.
var (
	drawnUEs = []netip.Addr{
		netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("10.45.0.2"), netip.MustParseAddr("10.45.0.70"),
		netip.MustParseAddr("2001:db8:45:1::1"), netip.MustParseAddr("2001:db8:45:2::9"), netip.MustParseAddr("2001:db8:46:3::1"),
	}
	drawnRemotes = []netip.Addr{
		netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.130"), netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("10.45.0.2"),
		netip.MustParseAddr("2001:db8:99::1"), netip.MustParseAddr("2001:db8:99:0:8000::1"), netip.MustParseAddr("2001:db8:9a::1"),
		netip.MustParseAddr("fe80::1"), netip.MustParseAddr("169.254.0.1"),
	}
	drawnPrefixes = []string{
		"0.0.0.0/0", "192.0.2.0/24", "192.0.2.128/25", "192.0.2.1/32", "10.45.0.0/26", "10.45.0.0/31", "128.0.0.0/1",
		"::/0", "2001:db8:99::/48", "2001:db8:99::/64", "2001:db8:99:0:8000::/65", "2001:db8:99::1/128", "2001:db8:45::/63", "2000::/3",
	}
	drawnRoutes = []string{
		"10.45.0.0/26", "10.45.0.0/16", "10.45.0.64/29", "10.45.0.70/32", "2001:db8:46::/48", "2001:db8:40::/44", "2001:db8:46:3::/64",
	}
	drawnProtocols = []uint32{inet.ProtoUDP, inet.ProtoTCP, inet.ProtoUDP, inet.ProtoTCP, inet.ProtoSCTP, 1, 58, inet.ProtoUDP, 50, inet.ProtoTCP, 51, 0, 43, 44, 60, 135, 139, 140, 59, 4}
	drawnPorts     = []uint32{0, 1, 53, 80, 443, 1000, 1999, 2000, 65534, 65535}
)

func drawnPrefix(s string) *api.Prefix {
	p := netip.MustParsePrefix(s)
	return &api.Prefix{Address: p.Addr().AsSlice(), Bits: uint32(p.Bits())}
}

func (d *dice) prefix() *api.Prefix {
	if d.roll(2) == 0 {
		return nil
	}
	return drawnPrefix(pick(d, drawnPrefixes...))
}

func (d *dice) ports() (all []*api.PortRange) {
	for range pick(d, 0, 0, 0, 1, 1, 2) {
		a, b := pick(d, drawnPorts...), pick(d, drawnPorts...)
		all = append(all, &api.PortRange{First: min(a, b), Last: max(a, b)})
	}
	return all
}

func (d *dice) filter() *api.Filter {
	f := &api.Filter{Remote: d.prefix(), Local: d.prefix()}
	if d.roll(3) > 0 {
		number := pick(d, drawnProtocols...)
		f.Protocol = &number
		if number == inet.ProtoUDP || number == inet.ProtoTCP || number == inet.ProtoSCTP || d.one(8) {
			f.RemotePorts, f.LocalPorts = d.ports(), d.ports()
		}
	}
	if d.one(4) {
		f.TosMask = pick(d, uint32(0xfc), 0xff, 0xe0, 1)
		f.Tos = pick(d, uint32(0xb8), 0, 0xff)
	}
	switch d.roll(48) {
	case 47:
		spi := uint32(7)
		f.Spi = &spi
	case 46:
		label := uint32(9)
		f.FlowLabel = &label
	}
	return f
}

// session is one of a UE with at most two addresses. Most are such that the pipeline can do
// what they ask for.
func (d *dice) session(seid uint64) *api.Session {
	s := &api.Session{Seid: seid}
	if d.one(3) {
		s.Qers = []*api.QER{{Id: 1, Qfi: pick(d, uint32(9), 5, 0), UplinkGateClosed: d.one(8), DownlinkGateClosed: d.one(8)}}
	}
	ue := &api.UEAddress{}
	four, six := (int(seid)+d.roll(2))%4, (int(seid)+d.roll(2))%4 // the last one is none
	if four < 3 {
		ue.Ipv4 = binary.BigEndian.Uint32(drawnUEs[four].AsSlice())
	}
	if six < 3 && (four == 3 || d.roll(2) == 1) {
		ue.Ipv6Prefix = binary.BigEndian.Uint64(drawnUEs[3+six].AsSlice())
	}
	compared := d.roll(3) > 0 // the UE address, where there is an F-TEID
	for id := range uint32(1 + d.roll(5)) {
		s.Rules = append(s.Rules, d.rule(seid, id+1, ue, compared != d.one(12)))
		if len(s.Qers) > 0 && d.roll(2) == 0 {
			s.Rules[id].QerIds = []uint32{1}
		}
	}
	return s
}

func (d *dice) rule(seid uint64, id uint32, ue *api.UEAddress, compared bool) *api.Rule {
	r := &api.Rule{
		PdrId: id, FarId: id, Precedence: id, Detect: &api.Detect{SourceInterface: api.Interface_ACCESS},
		Forward: &api.Forward{Action: pick(d, api.Action_FORW, api.Action_FORW, api.Action_FORW, api.Action_DROP)},
	}
	up := d.roll(2) == 0 || ue.GetIpv4() == 0 && ue.GetIpv6Prefix() == 0
	tunnelled := up || d.one(4)
	if !up {
		r.Detect.SourceInterface = api.Interface_CORE
		if !tunnelled {
			r.Detect.NetworkInstance = pick(d, "", "", "internet", "corp")
		}
	}
	if tunnelled {
		r.Detect.FTeid = &api.FTEID{Teid: drawnTEID(seid, up), Ipv4: binary.BigEndian.Uint32(n3.AsSlice())}
		if d.one(3) {
			r.Detect.FTeid.Ipv6 = n36.AsSlice()
		}
		if d.one(16) {
			r.Detect.FTeid.Teid = drawnTEID(1+seid%3, up)
		}
		r.OuterHeaderRemoval = true
		r.Detect.Qfis = pick(d, nil, nil, nil, []uint32{9}, []uint32{1, 5, 63})
	}
	if !tunnelled || compared {
		r.Detect.UeAddress = ue
	}
	if d.one(12) {
		r.Detect.FramedRoutes = []*api.Prefix{drawnPrefix(pick(d, drawnRoutes...))}
	}
	for range pick(d, 0, 1, 1, 2, 3) {
		r.Detect.Filters = append(r.Detect.Filters, d.filter())
	}
	d.forward(r, up)
	return r
}

func drawnTEID(seid uint64, up bool) uint32 {
	if up {
		return uint32(seid)
	}
	return 0x10 + uint32(seid)
}

// forward says where packets of a rule go.
func (d *dice) forward(r *api.Rule, up bool) {
	f := r.Forward
	if up && !d.one(3) {
		f.DestinationInterface, f.NetworkInstance = api.Interface_CORE, pick(d, "", "internet", "corp")
		if d.one(16) {
			f.ForwardingPolicy = "marked"
		}
		return
	}
	if !up {
		f.DestinationInterface = api.Interface_ACCESS
	}
	f.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 0x101 + uint32(d.roll(3))}
	switch to := pick(d, gnb, gnb2, gnb6, gnb, gnb2, gnb6, n3); to.Is4() {
	case true:
		f.OuterHeaderCreation.Ipv4 = binary.BigEndian.Uint32(to.AsSlice())
	default:
		f.OuterHeaderCreation.Ipv6 = to.AsSlice()
	}
	if d.one(3) {
		dscp := uint32(46)
		f.Dscp = &dscp
	}
}

// aim is what a packet has in common with a rule that it may match.
type aim struct {
	up, tunnelled bool
	teid          uint32
	qfi           byte
	ue            netip.Addr
	filter        *api.Filter
}

// aim takes a rule of the sessions, if there is one.
func (d *dice) aim(all []*api.Session) aim {
	a := aim{up: d.roll(2) == 0, tunnelled: d.roll(2) == 0, teid: uint32(d.roll(5)), qfi: pick(d, byte(9), 5, 63, 1, 0), ue: pick(d, drawnUEs...), filter: &api.Filter{}}
	if len(all) == 0 || d.one(6) {
		return a
	}
	s := pick(d, all...)
	r := pick(d, s.GetRules()...)
	a.up, a.tunnelled = r.GetDetect().GetSourceInterface() == api.Interface_ACCESS, r.GetDetect().GetFTeid() != nil
	a.teid = r.GetDetect().GetFTeid().GetTeid()
	if q := r.GetDetect().GetQfis(); len(q) > 0 && d.roll(4) > 0 {
		a.qfi = byte(pick(d, q...))
	}
	if ue := r.GetDetect().GetUeAddress(); ue != nil && d.roll(8) > 0 {
		for _, known := range drawnUEs {
			is := known.Is4() && binary.BigEndian.Uint32(known.AsSlice()) == ue.GetIpv4() ||
				known.Is6() && binary.BigEndian.Uint64(known.AsSlice()) == ue.GetIpv6Prefix()
			if is && (!a.ue.IsValid() || a.ue.Is4() != known.Is4() || a.ue == known || !isUE(ue, a.ue)) {
				a.ue = known
			}
		}
	}
	if f := r.GetDetect().GetFilters(); len(f) > 0 && d.roll(4) > 0 {
		a.filter = pick(d, f...)
	}
	return a
}

func isUE(ue *api.UEAddress, a netip.Addr) bool {
	if a.Is4() {
		return binary.BigEndian.Uint32(a.AsSlice()) == ue.GetIpv4()
	}
	return binary.BigEndian.Uint64(a.AsSlice()) == ue.GetIpv6Prefix()
}

// remote draws an address of an IP version, in a prefix if one of those known is.
func (d *dice) remote(v4 bool, in *api.Prefix) netip.Addr {
	a := pick(d, drawnRemotes...)
	p, _ := netip.AddrFromSlice(in.GetAddress())
	for i := range drawnRemotes {
		one := drawnRemotes[(indexOf(drawnRemotes, a)+i)%len(drawnRemotes)]
		if one.Is4() == v4 && (i > len(drawnRemotes)/2 || !p.IsValid() || netip.PrefixFrom(p, int(in.GetBits())).Contains(one)) {
			return one
		}
	}
	return drawnRemotes[indexOf([]bool{drawnRemotes[0].Is4(), drawnRemotes[4].Is4()}, v4)*4]
}

// port draws one, at the edge of a range if there is one.
func (d *dice) port(ranges []*api.PortRange) uint16 {
	if len(ranges) == 0 || d.one(4) {
		return uint16(pick(d, drawnPorts...))
	}
	r := pick(d, ranges...)
	return uint16(pick(d, r.GetFirst(), r.GetLast(), r.GetLast()+1, r.GetFirst()-1))
}

// user draws a user packet.
func (d *dice) user(a aim) []byte {
	remote := d.remote(a.ue.Is4(), a.filter.GetRemote())
	src, dst, from, to := remote, a.ue, d.port(a.filter.GetRemotePorts()), d.port(a.filter.GetLocalPorts())
	if a.up {
		src, dst, from, to = dst, src, to, from
	}
	protocol, tos, ttl := byte(pick(d, drawnProtocols...)), pick(d, byte(0), 0xb8, 0xff, 1), byte(64)
	if a.filter.Protocol != nil && d.roll(4) > 0 {
		protocol = byte(a.filter.GetProtocol())
	}
	if a.filter.GetTosMask() != 0 && d.roll(4) > 0 {
		tos = byte(a.filter.GetTos())
	}
	if d.one(12) {
		ttl = pick(d, byte(2), 1, 0)
	}
	payload := d.upper(protocol, from, to)
	if a.ue.Is4() {
		options := make([]byte, 0)
		if d.one(16) {
			options = make([]byte, 4)
		}
		b := []byte{0x45 + byte(len(options)/4), tos, 0, 0, 0, 7, 0, 0, ttl, protocol, 0, 0}
		binary.BigEndian.PutUint16(b[2:], uint16(20+len(options)+len(payload)))
		if d.one(8) {
			binary.BigEndian.PutUint16(b[6:], pick(d, uint16(0x4000), 0x2000, 0x2001, 3, 0x8000))
		}
		return append(append(append(append(b, src.AsSlice()...), dst.AsSlice()...), options...), payload...)
	}
	b := binary.BigEndian.AppendUint32(nil, 6<<28|uint32(tos)<<20|pick(d, uint32(0), 9))
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	b = append(b, protocol, ttl)
	return append(append(append(b, src.AsSlice()...), dst.AsSlice()...), payload...)
}

// upper draws what is behind the IP header: ports, or extension headers of IPv6 in front of
// them, which are some octets like any other behind an IPv4 header.
func (d *dice) upper(protocol byte, from, to uint16) []byte {
	var b []byte
	switch protocol {
	case 0, 43, 60, 135, 139, 140:
		b = append(b, byte(pick(d, drawnProtocols...)), 0, 0, 0, 0, 0, 0, 0)
	case 44:
		b = append(b, byte(pick(d, drawnProtocols...)), 0, 0, pick(d, byte(0), 1, 8), 0, 0, 0, 7)
	}
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, from), to)
	b = append(b, make([]byte, 4+d.roll(40))...)
	if d.one(16) {
		b = b[:d.roll(len(b))]
	}
	return b
}

func indexOf[T comparable](all []T, one T) int {
	for i, x := range all {
		if x == one {
			return i
		}
	}
	return -1
}

// frame draws one that comes in by a device, at a rule of the sessions more often than not.
func (d *dice) frame(all []*api.Session) (device int, frame []byte) {
	a := d.aim(all)
	u := d.user(a)
	if a.tunnelled == d.one(16) {
		device = 1 + d.roll(2)
		return device, d.spoil(ether(bedPorts[device].MAC, u))
	}
	return 0, d.spoil(ether(bedPorts[0].MAC, datagram(pick(d, n3, n3, n36), d.gpdu(a, u))))
}

func (d *dice) gpdu(a aim, u []byte) []byte {
	header := binary.BigEndian.AppendUint32([]byte{0x30, 255, 0, 0}, a.teid)
	kind := d.usual
	if d.one(4) {
		kind = d.roll(6)
	}
	switch kind {
	case 0, 1: // a container
		header[0] |= 4
		header = append(header, 0, 0, 0, 0x85, 1, pick(d, byte(0x10), 0), a.qfi, 0)
	case 2: // a sequence number and a container
		header[0] |= 6
		header = append(header, 0, 7, 0, 0x85, 1, 0x10, a.qfi|pick(d, byte(0), 0xc0), 0)
	case 3: // a sequence number
		header[0] |= 2
		header = append(header, 0, 7, 0, pick(d, byte(0), 0x85))
	case 4: // something else
		header[0] |= 4
		header = append(header, pick(d,
			[]byte{0, 0, 0, 0},
			[]byte{0, 0, 0, 0x85, 2, 0x10, a.qfi, 0, 0, 0, 0, 0},
			[]byte{0, 0, 0, 0x85, 1, 0x10, a.qfi, 0x20, 1, 0, 0, 0},
			[]byte{0, 0, 0, 0xc0, 1, 0, 1, 0})...)
	}
	binary.BigEndian.PutUint16(header[2:], uint16(len(header)-8+len(u)))
	return append(header, u...)
}

// datagram puts UDP and IP in front of a GTP-U message to an address of the UPF.
func datagram(local netip.Addr, message []byte) []byte {
	udp := []byte{0x08, 0x68, 0x08, 0x68, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(udp[4:], uint16(8+len(message)))
	udp = append(udp, message...)
	if local.Is4() {
		b := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, inet.ProtoUDP, 0, 0}
		binary.BigEndian.PutUint16(b[2:], uint16(20+len(udp)))
		return append(append(append(b, gnb.AsSlice()...), local.AsSlice()...), udp...)
	}
	b := []byte{0x60, 0, 0, 0, 0, 0, inet.ProtoUDP, 64}
	binary.BigEndian.PutUint16(b[4:], uint16(len(udp)))
	return append(append(append(b, gnb6.AsSlice()...), local.AsSlice()...), udp...)
}

func ether(mac [6]byte, packet []byte) []byte {
	b := append(append([]byte{}, mac[:]...), 2, 9, 9, 9, 9, 9, 8, 0)
	if len(packet) > 0 && packet[0]>>4 == 6 {
		b[12], b[13] = 0x86, 0xdd
	}
	return append(b, packet...)
}

// spoil makes a frame, now and then, one that no sender should send.
func (d *dice) spoil(frame []byte) []byte {
	switch d.roll(24) {
	case 21:
		return append(frame, make([]byte, 1+d.roll(20))...)
	case 22:
		return frame[:max(inet.LenEthernet, len(frame)-1-d.roll(40))]
	case 23:
		at := inet.LenEthernet - 2 + d.roll(min(80, len(frame)-inet.LenEthernet+2))
		frame[at] ^= 1 << d.roll(8)
	}
	return frame
}
