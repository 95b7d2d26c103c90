package stages

import (
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Links is what the stages know of the devices through which packets leave.
type Links interface {
	// MTU returns how many octets an IP packet may have that leaves by r, which
	// forwards it bare to this address, or through a tunnel.
	MTU(r *Rule, to netip.Addr) int
	// Router returns the address of the UPF as a router, from which it tells
	// users and data network of packets that do not go on; not valid: it has none
	// of this IP version.
	Router(v6 bool) netip.Addr
}

// Hosts knows the addresses of this host, to which no user packet goes: a UE has no
// business with the UPF's own sockets, by whatever way it would get there.
type Hosts interface{ Has(a netip.Addr) bool }

// Sent is a packet on its way out.
type Sent struct {
	Packet []byte
	Outer  *Outer // through which it goes; nil: bare, on N6
	Way    int    // bare: a way of [datapath.N6]
	Flow   uint32 // bare: of the user, for the choice of a next hop

	Ethernet bool // bare: Packet is a frame

	Passes int // F-TEIDs of the UPF itself through which it has come
}

// Answers bounds what packets of users make the UPF say: so much for one user, or
// a few who share a share, and so much in all. It is for several goroutines.
type Answers struct {
	mu   sync.Mutex
	all  Limiter
	each [answerShares]Limiter
}

// Answers a second of the UPF, and of one share of it.
const (
	answersToUsers = 1000
	answersToUser  = 10
	answerShares   = 1024
)

// NewAnswers returns the bounds of a UPF.
func NewAnswers() *Answers { return newAnswers(answersToUsers, answersToUser) }

func newAnswers(all, each uint64) *Answers {
	a := &Answers{all: Limiter{PerSecond: all}}
	for i := range a.each {
		a.each[i].PerSecond = each
	}
	return a
}

// allow takes one answer about u, which is of the UE at address ue.
func (a *Answers) allow(nowNs uint64, ue netip.Addr) bool {
	if a == nil {
		return false
	}
	k := ueKey(ue)
	return a.allowShare(nowNs, k.IPv4^uint32(k.IPv6)^uint32(k.IPv6>>32))
}

// allowShare takes one answer about the user whose number this is.
func (a *Answers) allowShare(nowNs uint64, user uint32) bool {
	if a == nil {
		return false
	}
	h := user * 0x9e3779b1 >> 22
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.each[h%answerShares].Allow(nowNs) && a.all.Allow(nowNs)
}

// tell returns what the sender of a packet is told that was dropped for reason:
// that its TTL ran out, that it is too big for the way and must not be cut, or that
// the NAT has no port for it.
// All other drops are silent, and so is a packet that a gate would have stopped.
// An own packet of the UPF never gets here.
func (s *Stages) tell(r *Rule, a arrived, reason datapath.Reason) []Sent {
	if s.Links == nil || r.Gate || !r.routes(a) {
		return nil
	}
	p, mtu := expired, 0
	switch reason {
	case datapath.DropTTL:
	case datapath.DropMTU:
		p, mtu = tooBig, s.limit(r, a)
	case datapath.DropNATFull: // RFC 5508, REQ-8
		p = prohibited
	default:
		return nil
	}
	router := s.router(a.user.isIPv6())
	if !router.IsValid() || !p.mayReport(a.user) || !s.Answers.allow(s.Now(), a.ue()) {
		return nil
	}
	report := p.report(a.user, router, mtu)
	if a.header == nil {
		s.quoteOutside(a.network, report)
		return []Sent{{Packet: report, Way: a.network}}
	}
	return s.toUE(report)
}

func (s *Stages) router(v6 bool) netip.Addr {
	router := s.Links.Router(v6)
	if !router.IsValid() && !v6 {
		return noAddress4
	}
	return router
}

// ue returns the user's end of a packet.
func (a arrived) ue() netip.Addr {
	if a.header == nil {
		return a.user.destination()
	}
	return a.user.source()
}

// toUE sends a packet of the UPF's own to the UE that has its destination, by the
// rule by which one from the data network would go there, if that forwards. It is
// neither metered nor measured: it is the UPF's, not the user's.
func (s *Stages) toUE(packet user) []Sent {
	r, reason := s.detect(s.towards(packet.destination()), nil, packet)
	if reason != datapath.ReasonNone || !r.answers() {
		return nil
	}
	return []Sent{r.answer(packet)}
}

// answer is a packet of the UPF's own on its way by r.
func (r *Rule) answer(packet user) Sent {
	return Sent{Packet: r.encapsulate(arrived{user: packet}, packet), Outer: r.Outer}
}

// answers reports whether packets of the UPF's own may leave by r.
func (r *Rule) answers() bool { return r.Action == api.Action_FORW && !r.Gate && r.Outer != nil }

// limit returns how many octets a's user packet may have to leave by r whole. A
// tunnel never leaves less than what every link must carry: what is beyond then
// is fragmented outside the tunnel's header.
func (s *Stages) limit(r *Rule, a arrived) int {
	if s.Links == nil {
		return maxPacket
	}
	to := netip.Addr{}
	switch {
	case r.Wrap != nil:
		to = r.Wrap.Peer
	case r.Outer == nil:
		to = a.user.destination()
	}
	mtu := maxPacket
	if !s.IsOwn(r.Outer) { // else no link is between
		mtu = s.Links.MTU(r, to)
	}
	if r.Wrap != nil {
		return mtu - r.Wrap.size()
	}
	if r.Outer == nil {
		return mtu
	}
	return max(mtu-(r.outerSize(a)-len(a.user)), a.user.minMTU())
}
