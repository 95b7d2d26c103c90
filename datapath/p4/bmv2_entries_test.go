package p4

import (
	"net/netip"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// The tests' network:
//
//	gNB, other UPF ─ port 1 ─ UPF ─ port 2 ─ router
const (
	macUPF, macGNB, macRouter = 0x020000000001, 0x020000000003, 0x020000000004

	local4, farGNB4 = "10.0.0.1", "10.0.0.2"
	local6, farGNB6 = "2001:db8::1", "2001:db8::2"
	server4         = "8.8.4.4"
	server6         = "2001:db8:77::9"

	vidAccess, vidData = 100, 200
	mtu, mtuLow        = 1500, 200
)

// Rules. Those from ruleDown on have the UE as their destination.
const (
	ruleUp = iota + 1
	ruleUpGate
	ruleUpMBR
	ruleUpSlice
	ruleUpTwo
	ruleUpWide
	ruleToPeer
	ruleToPeerQFI
	ruleToPeer6
	ruleCPU
	ruleDNS
	ruleWeb
	ruleVoice
	ruleDown
	ruleDown6
	ruleDownDSCP
	ruleDownGate
	ruleDownPlain6
	ruleDownNoPeer
	ruleDownLow
	ruleDownTagged
	ruleDownMBR
)

// Octets in front of user packets.
const (
	bare        = 14
	bareTagged  = 18
	tunnel4     = 14 + 36
	tunnel4PSC  = tunnel4 + 8
	tunnel6PSC  = 14 + 56 + 8
	taggedPSC   = tunnel4PSC + 4
	tunnel4Opt  = tunnel4 + 4
	notExpected = 99
)

// Numbers of lists, of peers and of next hops.
const (
	listUp, listDown                                                      = 3, 4
	peerGNB, peerGNB6, peerNone, peerLow, peerTagged                      = 1, 2, 3, 4, 5
	hopGNB, hopRouter, hopRouterTagged, hopLow, hopGNBTagged, hopNone int = 1, 2, 3, 4, 5, 6
)

// Keys.
const (
	teid uint32 = 0x1000 + iota
	teidPlain
	teidOptional
	teidTagged
	teidList
	teidGate
	teidMBR
	teidSlice
	teidTwo
	teidWide
	teidToPeer
	teidToPeerQFI
	teidToPeer6
	teidCPU
	teidRuleCPU
	teidNoRule
	teidAnyUE
	teidNotExpected
	teidUnknown
)

// ue4 and ue6 are addresses of UEs: the sessions of teid have number 1.
func ue4(n int) string { return netip.AddrFrom4([4]byte{100, 64, 0, byte(n)}).String() }
func ue6(n int) string {
	return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 1, 0, 0, byte(n), 15: 7}).String()
}

// UEs, by what becomes of packets to them.
const (
	ueDown = iota + 1
	ueDown6
	ueDownDSCP
	ueDownGate
	ueDownPlain6
	ueDownNoPeer
	ueDownLow
	ueDownTagged
	ueDownMBR
	ueList
	ueCPU
	ueNoRule
	ueFromTagged
	ueNotExpected
	ueUnknown
)

func wordOf(a string) uint64 { return word4(netip.MustParseAddr(a)) }

func wordsOf(a string) (hi, lo uint64) { return words6(netip.MustParseAddr(a)) }

func prefix(s string) match {
	p := netip.MustParsePrefix(s)
	return match{value: canonical(p.Addr().AsSlice()), bits: p.Bits()}
}

func masked(value, mask uint64) match { return match{value: number(value), mask: number(mask)} }

func between(low, high uint64) match { return match{value: number(low), high: number(high)} }

// maker makes the entries of the tests.
type maker struct {
	schema *schema
	all    []*p4rt.Update
}

func (m *maker) add(table string, key []match, priority int32, action string, params ...uint64) {
	m.all = append(m.all, update(p4rt.Update_INSERT, m.schema.entry(table, key, priority, action, params...)))
}

// exacts is a key of fields that are all exact.
func exacts(of ...uint64) (key []match) {
	for _, v := range of {
		key = append(key, exact(v))
	}
	return key
}

// entries are those of the tests.
func entries(s *schema) []*p4rt.Update {
	m := &maker{schema: s}
	m.ports()
	m.tunnels()
	m.ues()
	m.rules()
	m.filters()
	m.routes()
	return m.all
}

func (m *maker) ports() {
	m.add(tablePorts, exacts(1, 0, 0, macUPF), 0, actionFromPort, 1, 0)
	m.add(tablePorts, exacts(2, 0, 0, macUPF), 0, actionFromPort, 0, 1)
	m.add(tablePorts, exacts(1, 1, vidAccess, macUPF), 0, actionFromPort, 1, 0)
	m.add(tablePorts, exacts(2, 1, vidData, macUPF), 0, actionFromPort, 0, 2)
	hi, lo := wordsOf(local6)
	m.add(tableLocals4, exacts(wordOf(local4)), 0, actionLocal, 1)
	m.add(tableLocals6, exacts(hi, lo), 0, actionLocal, 2)
	m.add(tableOwn4, exacts(wordOf(local4)), 0, actionOwn)
	m.add(tableOwn6, exacts(hi, lo), 0, actionOwn)
}

func (m *maker) tunnels() {
	ue6Prefix, _ := wordsOf(ue6(1))
	ue := wordOf(ue4(1))
	one := func(endpoint uint64, teid uint32, rule, expected uint64) {
		m.add(tableTunnels, exacts(endpoint, uint64(teid)), 0, actionOne, rule, expected, 1, 1, ue, ue6Prefix)
	}
	one(1, teid, ruleUp, tunnel4PSC)
	one(2, teid, ruleUp, tunnel6PSC)
	one(1, teidPlain, ruleUp, tunnel4)
	one(1, teidOptional, ruleUp, tunnel4Opt)
	one(1, teidTagged, ruleUp, taggedPSC)
	one(1, teidGate, ruleUpGate, tunnel4PSC)
	one(1, teidMBR, ruleUpMBR, tunnel4PSC)
	one(1, teidSlice, ruleUpSlice, tunnel4PSC)
	one(1, teidTwo, ruleUpTwo, tunnel4PSC)
	one(1, teidWide, ruleUpWide, tunnel4PSC)
	one(1, teidRuleCPU, ruleCPU, tunnel4PSC)
	one(1, teidNoRule, ruleUp+1000, tunnel4PSC)
	one(1, teidNotExpected, ruleUp, notExpected)
	m.add(tableTunnels, exacts(1, uint64(teidList)), 0, actionSeveral, listUp, tunnel4PSC, 1, 1, ue, ue6Prefix)
	m.add(tableTunnels, exacts(1, uint64(teidCPU)), 0, actionDetectCPU, uint64(datapath.PassChanging))
	m.add(tableTunnels, exacts(1, uint64(teidAnyUE)), 0, actionOne, ruleUp, tunnel4PSC, 1, 0, 0, 0)
	for at, rule := range map[uint32]uint64{teidToPeer: ruleToPeer, teidToPeerQFI: ruleToPeerQFI, teidToPeer6: ruleToPeer6} {
		m.add(tableTunnels, exacts(1, uint64(at)), 0, actionOne, rule, tunnel4PSC, 0, 0, 0, 0)
	}
}

func (m *maker) ues() {
	for ue, rule := range map[int]uint64{
		ueDown: ruleDown, ueDown6: ruleDown6, ueDownDSCP: ruleDownDSCP, ueDownGate: ruleDownGate, ueDownPlain6: ruleDownPlain6,
		ueDownNoPeer: ruleDownNoPeer, ueDownLow: ruleDownLow, ueDownTagged: ruleDownTagged, ueDownMBR: ruleDownMBR, ueNoRule: ruleDown + 1000,
	} {
		hi, _ := wordsOf(ue6(ue))
		m.add(tableUEs4, exacts(wordOf(ue4(ue))), 0, actionOneBare, rule, bare)
		m.add(tableUEs6, exacts(hi), 0, actionOneBare, rule, bare)
	}
	hi, _ := wordsOf(ue6(ueList))
	m.add(tableUEs4, exacts(wordOf(ue4(ueList))), 0, actionSeveralBare, listDown, bare)
	m.add(tableUEs6, exacts(hi), 0, actionSeveralBare, listDown, bare)
	m.add(tableUEs4, exacts(wordOf(ue4(ueCPU))), 0, actionDetectCPU, uint64(datapath.PassChanging))
	m.add(tableUEs4, exacts(wordOf(ue4(ueFromTagged))), 0, actionOneBare, ruleDown, bareTagged)
	m.add(tableUEs4, exacts(wordOf(ue4(ueNotExpected))), 0, actionOneBare, ruleDown, notExpected)
	// Framed routes: the longest prefix first.
	m.add(tableFramed4, []match{prefix("192.168.0.0/16")}, 0, actionOneBare, ruleDown, bare)
	m.add(tableFramed4, []match{prefix("192.168.5.0/24")}, 0, actionOneBare, ruleDownGate, bare)
	m.add(tableFramed4, []match{prefix("192.168.5.128/25")}, 0, actionDetectCPU, uint64(datapath.PassChanging))
	m.add(tableFramed6, []match{{}}, 0, actionOneBare, ruleDownGate, bare) // any
	m.add(tableFramed6, []match{{value: number(0x20010db8_0f000000), bits: 40}}, 0, actionOneBare, ruleDown, bare)
}

// By an MBR three packets of meteredOctets pass, and none for a long time.
const (
	meteredOctets = 1000
	octetTime     = 16e6 << 24 // ns in 2^-24: 16 s for a packet
	tolerance     = 40e9 * 256 // ns in 2^-8
	meteredPasses = 3          // at 0, 16 and 32 s ahead
	metered       = meteredPasses + 2
	bucketWide    = 3
	wide          = 72e9 * 256 // five packets
	widePasses    = 5
)

func (m *maker) rules() {
	limits := func(closed, bucket, bucket2, slice uint64) []uint64 {
		all := []uint64{closed, bucket, 0, 0, bucket2, 0, 0, slice}
		for i := 1; i < 7; i += 3 {
			if all[i] != 0 {
				all[i+1], all[i+2] = octetTime, tolerance
			}
			if all[i] == bucketWide {
				all[i+2] = wide
			}
		}
		return all
	}
	toN6 := func(rule, bucket, bucket2, slice uint64) {
		m.add(tableRules, exacts(rule), 0, actionToN6, append([]uint64{1, 1}, limits(0, bucket, bucket2, slice)...)...)
	}
	toPeer := func(rule, uplink, peer, hasQFI, hasDSCP, bucket uint64) {
		const qfi, dscp = 9, 46
		m.add(tableRules, exacts(rule), 0, actionToPeer, append([]uint64{
			uplink, peer, 0x80002000 + rule, hasQFI, qfi * hasQFI, uplink, hasDSCP, dscp * hasDSCP}, limits(0, bucket, 0, 0)...)...)
	}
	toN6(ruleUp, 0, 0, 0)
	toN6(ruleUpMBR, 1, 0, 0)
	toN6(ruleUpSlice, 0, 0, 1)
	toN6(ruleUpTwo, bucketWide, 4, 0)
	toN6(ruleUpWide, bucketWide, 0, 0)
	toN6(ruleDNS, 0, 0, 0)
	toN6(ruleWeb, 0, 0, 0)
	toN6(ruleVoice, 0, 0, 0)
	toPeer(ruleToPeer, 1, peerGNB, 0, 0, 0)
	toPeer(ruleToPeerQFI, 1, peerGNB, 1, 0, 0)
	toPeer(ruleToPeer6, 0, peerGNB6, 1, 1, 0)
	toPeer(ruleDown, 0, peerGNB, 1, 0, 0)
	toPeer(ruleDown6, 0, peerGNB6, 1, 0, 0)
	toPeer(ruleDownDSCP, 0, peerGNB, 0, 1, 0)
	toPeer(ruleDownPlain6, 0, peerGNB6, 0, 1, 0)
	toPeer(ruleDownNoPeer, 0, peerNone, 1, 0, 0)
	toPeer(ruleDownLow, 0, peerLow, 1, 0, 0)
	toPeer(ruleDownTagged, 0, peerTagged, 1, 0, 0)
	toPeer(ruleDownMBR, 0, peerGNB, 1, 0, 2)
	m.add(tableRules, exacts(ruleUpGate), 0, actionToN6, append([]uint64{1, 1}, limits(1, 0, 0, 0)...)...)
	m.add(tableRules, exacts(ruleDownGate), 0, actionRefuse, uint64(datapath.DropFAR))
	m.add(tableRules, exacts(ruleCPU), 0, actionForwardCPU, uint64(datapath.PassRules))
	m.add("slices", exacts(1, 1), 0, "rate", octetTime, tolerance)
}

// filters overlap: the greatest priority decides.
func (m *maker) filters() {
	any4 := func(list uint64) []match { return append(exacts(list), make([]match, 8)...) }
	any6 := func(list uint64) []match { return append(exacts(list), make([]match, 10)...) }
	with := func(key []match, fields map[int]match) []match {
		for i, f := range fields {
			key[i] = f
		}
		return key
	}
	const network, qfi, protocol, tos, source, destination, sourcePort, port4 = 1, 2, 3, 4, 5, 6, 7, 8
	udp, tcp := masked(inet.ProtoUDP, 0xff), masked(inet.ProtoTCP, 0xff)
	m.add(tableFilters4, with(any4(listUp), map[int]match{protocol: udp, sourcePort: between(1000, 1999)}), 7, actionFiltered, ruleWeb)
	m.add(tableFilters4, with(any4(listUp), map[int]match{protocol: udp, destination: masked(0x08080000, 0xffff0000), port4: between(53, 53)}), 6, actionFiltered, ruleDNS)
	m.add(tableFilters4, with(any4(listUp), map[int]match{protocol: tcp, port4: between(80, 443)}), 5, actionFiltered, ruleWeb)
	m.add(tableFilters4, with(any4(listUp), map[int]match{tos: masked(0xb8, 0xfc), source: masked(wordOf(ue4(1)), 0xffffffff)}), 4, actionFiltered, ruleVoice)
	m.add(tableFilters4, with(any4(listUp), map[int]match{qfi: masked(5, 0x7f)}), 3, actionFiltered, ruleUpGate)
	m.add(tableFilters4, with(any4(listUp), map[int]match{destination: masked(0x09000000, 0xff000000)}), 2, "detect.cpu", uint64(datapath.PassN6))
	m.add(tableFilters4, any4(listUp), 1, actionUnfiltered, uint64(datapath.DropSDFFilter))
	m.add(tableFilters4, with(any4(listDown), map[int]match{network: masked(1, 0xff), source: masked(0x08000001, 0xff000001)}), 1, actionFiltered, ruleDown)

	const destination6, rest6, sourcePort6, port6 = 7, 8, 9, 10
	m.add(tableFilters6, with(any6(listUp), map[int]match{protocol: udp, destination6: masked(0x20010db8_00080000, 0xffffffff_ffff0000), port6: between(53, 53)}), 9, actionFiltered, ruleDNS)
	m.add(tableFilters6, with(any6(listUp), map[int]match{rest6: masked(0x80, 0x80), sourcePort6: between(0, 1023)}), 8, actionFiltered, ruleWeb)
	m.add(tableFilters6, with(any6(listUp), map[int]match{rest6: masked(1<<63, 1<<63), sourcePort6: between(1024, 65535)}), 7, actionUnfiltered, uint64(datapath.DropSDFFilter))
}

func (m *maker) routes() {
	m.add(tableRoutes4, []match{exact(1), {}}, 0, actionByHop, uint64(hopRouter))
	m.add(tableRoutes4, []match{exact(1), prefix("8.8.8.0/24")}, 0, actionByHop, uint64(hopRouterTagged))
	m.add(tableRoutes4, []match{exact(1), prefix("8.8.8.129/32")}, 0, actionForwardCPU, uint64(datapath.PassUnresolved))
	m.add(tableRoutes6, []match{exact(1), {}}, 0, actionByHop, uint64(hopRouter))
	m.add(tableRoutes6, []match{exact(1), prefix("2001:db8:8::/45")}, 0, actionByHop, uint64(hopRouterTagged))
	m.add(tableRoutes6, []match{exact(1), prefix("2001:db8:8::1/128")}, 0, actionForwardCPU, uint64(datapath.PassUnresolved))
	fromHi, fromLo := wordsOf(local6)
	toHi, toLo := wordsOf(farGNB6)
	for peer, hop := range map[uint64]int{peerGNB: hopGNB, peerLow: hopLow, peerTagged: hopGNBTagged} {
		m.add(tablePeers, exacts(peer), 0, actionPeer4, wordOf(local4), wordOf(farGNB4), uint64(hop))
	}
	m.add(tablePeers, exacts(peerGNB6), 0, actionPeer6, fromHi, fromLo, toHi, toLo, uint64(hopGNB))
	m.add(tablePeers, exacts(peerNone), 0, actionForwardCPU, uint64(datapath.PassUnresolved))
	m.add(tableHops, exacts(uint64(hopGNB)), 0, actionByPort, 1, 0, 0, macUPF, macGNB, mtu)
	m.add(tableHops, exacts(uint64(hopRouter)), 0, actionByPort, 2, 0, 0, macUPF, macRouter, mtu)
	m.add(tableHops, exacts(uint64(hopRouterTagged)), 0, actionByPort, 2, 1, vidData, macUPF, macRouter, mtu)
	m.add(tableHops, exacts(uint64(hopLow)), 0, actionByPort, 1, 0, 0, macUPF, macGNB, mtuLow)
	m.add(tableHops, exacts(uint64(hopGNBTagged)), 0, actionByPort, 1, 1, vidAccess, macUPF, macGNB, mtu)
	m.add(tableHops, exacts(uint64(hopNone)), 0, actionForwardCPU, uint64(datapath.PassUnresolved))
}
