package stages

import (
	"container/list"
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Redirect is Redirect Information of a FAR: a URL, or a host of one or of each IP
// version.
// Source: TS 29.244 V18.6.0, 8.2.20.
type Redirect struct {
	URL string // HTTP requests are answered with 302 to there; HTTPS and QUIC are refused, all else is dropped
	// Packets go there instead, and its answers come back as from the first one.
	// Not valid: those of this IP version are dropped.
	Host4, Host6 netip.Addr
}

func newRedirect(in *api.Redirect) *Redirect {
	switch {
	case in == nil:
		return nil
	case in.GetUrl() != "":
		return &Redirect{URL: in.GetUrl()}
	}
	r := &Redirect{}
	if in.GetIpv4() != 0 {
		r.Host4 = ipv4(in.GetIpv4())
	}
	if a, ok := netip.AddrFromSlice(in.GetIpv6()); ok {
		r.Host6 = a
	}
	return r
}

// host returns that of an IP version; not valid: there is none.
func (r *Redirect) host(v6 bool) netip.Addr {
	if v6 {
		return r.Host6
	}
	return r.Host4
}

// Redirects is what redirecting has to know: a secret, for answers of TCP for
// which nothing is kept, and which host packets of a flow were for that went to
// another one instead. It is for several goroutines.
type Redirects struct {
	secret  []byte
	answers *Answers

	some  atomic.Int32 // how many flows there are
	mu    sync.Mutex
	flows map[flowKey]*list.Element // of *flow
	byAge list.List                 // of *flow, the one that was quiet longest first
	ofUE  map[netip.Addr]*list.List // of *list.Element in byAge, in the same order
}

// Bounds of [Redirects].
const (
	maxFlows      = 1 << 16
	maxFlowsOfUE  = 256
	flowQuiet     = 300_000_000_000 // ns after which a flow is over
	flowAgain     = 30_000_000_000  // ns after which its ports may be another's
	redirectsEach = 100             // answers of TCP a second to a user, or to those who share a share
	redirectsAll  = 10_000
)

// flowKey is a flow as the host sees it to which it was redirected.
type flowKey struct {
	ue, host         netip.Addr
	protocol         byte
	uePort, hostPort uint16 // 0: of packets that show none, which go by the last one that did
}

type flow struct {
	key      flowKey
	original netip.Addr
	last     uint64        // ns
	own      *list.Element // in ofUE
}

// NewRedirects returns an empty one. The secret keeps others from guessing the
// sequence numbers of our answers.
func NewRedirects(secret []byte) *Redirects {
	return &Redirects{
		secret: secret, answers: newAnswers(redirectsAll, redirectsEach),
		flows: map[flowKey]*list.Element{}, ofUE: map[netip.Addr]*list.List{},
	}
}

// leave forwards a packet that has passed every check.
func (s *Stages) leave(r *Rule, a arrived) Out {
	if r.Redirect != nil {
		return s.redirect(r, a)
	}
	if !r.Uplink && !r.Opaque {
		a.user = s.Redirects.back(a.user, s.Now())
	}
	if to := r.FAR.GetReplacement(); to != nil {
		a.user = a.user.replaced(to)
		if r.departs(a) && s.Hosts != nil && s.Hosts.Has(a.user.destination()) {
			r.CountDropped()
			return Out{Reason: datapath.DropLocal, Rule: r}
		}
	}
	s.Measure(r, len(a.user))
	return s.out(r, a)
}

// redirect treats an uplink packet whose FAR redirects.
func (s *Stages) redirect(r *Rule, a arrived) Out {
	if r.Redirect.URL != "" {
		r.CountDropped()
		return Out{Reason: datapath.DropRedirect, Rule: r, Others: s.respond(r.Redirect.URL, a.user)}
	}
	to, ok := s.Redirects.away(a.user, r.Redirect.host(a.user.isIPv6()), s.Now())
	if !ok {
		r.CountDropped()
		return Out{Reason: datapath.DropRedirect, Rule: r}
	}
	if s.Hosts != nil && s.Hosts.Has(to.destination()) {
		r.CountDropped()
		return Out{Reason: datapath.DropLocal, Rule: r}
	}
	a.user = to
	s.Measure(r, len(a.user))
	return s.out(r, a)
}

// respond answers a segment to any web server, and refuses HTTPS and QUIC, if the
// user has not had too many answers.
func (s *Stages) respond(url string, u user) []Sent {
	answer := s.Redirects.http(u, url)
	if answer == nil {
		answer = s.refuse(u)
	}
	if answer == nil || !s.Redirects.answers.allow(s.Now(), u.source()) {
		return nil
	}
	return s.toUE(answer)
}

// refuse tells the sender of a datagram of QUIC that it does not go on; nil: u is
// none, or gets no answer.
func (s *Stages) refuse(u user) user {
	if s.Links == nil || !u.isQUIC() || !prohibited.mayReport(u) {
		return nil
	}
	router := s.router(u.isIPv6())
	if !router.IsValid() {
		return nil
	}
	return prohibited.report(u, router, 0)
}

// away returns u as it goes to host, if there is room to remember from where its
// answers are to come.
func (d *Redirects) away(u user, host netip.Addr, nowNs uint64) (user, bool) {
	if !host.IsValid() {
		return nil, false
	}
	p := u.upper()
	k := flowKey{ue: u.source(), host: host, protocol: p.protocol}
	d.mu.Lock()
	defer d.mu.Unlock()
	if out := d.errorAway(u, host, nowNs); out != nil {
		return out, true
	}
	if p.hasPorts() {
		withPorts := k
		withPorts.uePort, withPorts.hostPort = binary.BigEndian.Uint16(p.payload), binary.BigEndian.Uint16(p.payload[2:])
		if !d.remember(withPorts, u.destination(), nowNs, flowAgain) {
			return nil, false
		}
	}
	if !d.remember(k, u.destination(), nowNs, 0) {
		return nil, false
	}
	return u.withAddress(false, host), true
}

// remember keeps that a flow was for original. Ports of one to another host are
// given away when they were quiet for so long. Where there is no room the flow goes
// that was quiet longest, of the UE if it has too many: whoever opens flow after flow
// reaches the host all the same.
func (d *Redirects) remember(k flowKey, original netip.Addr, nowNs, again uint64) bool {
	if e := d.flows[k]; e != nil {
		f := e.Value.(*flow)
		if f.original != original && nowNs-f.last < again {
			return false
		}
		f.original = original
		d.touch(e, nowNs)
		return true
	}
	for e := d.byAge.Front(); e != nil && nowNs-e.Value.(*flow).last >= flowQuiet; e = d.byAge.Front() {
		d.forget(e)
	}
	if own := d.ofUE[k.ue]; own != nil && own.Len() >= maxFlowsOfUE {
		d.forget(own.Front().Value.(*list.Element))
	} else if len(d.flows) >= maxFlows {
		d.forget(d.byAge.Front())
	}
	own := d.ofUE[k.ue]
	if own == nil {
		own = list.New()
		d.ofUE[k.ue] = own
	}
	f := &flow{key: k, original: original, last: nowNs}
	e := d.byAge.PushBack(f)
	d.flows[k], f.own = e, own.PushBack(e)
	d.some.Add(1)
	return true
}

func (d *Redirects) touch(e *list.Element, nowNs uint64) {
	f := e.Value.(*flow)
	f.last = nowNs
	d.byAge.MoveToBack(e)
	d.ofUE[f.key.ue].MoveToBack(f.own)
}

func (d *Redirects) forget(e *list.Element) {
	f := d.byAge.Remove(e).(*flow)
	delete(d.flows, f.key)
	d.some.Add(-1)
	own := d.ofUE[f.key.ue]
	if own.Remove(f.own); own.Len() == 0 {
		delete(d.ofUE, f.key.ue)
	}
}

// Some reports whether any packet may be such an answer: see [Redirects.Of].
func (d *Redirects) Some() bool { return d.some.Load() != 0 }

// Of reports whether packets to a UE may be answers of one to whom it was
// redirected.
func (d *Redirects) Of(ue netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ofUE[ue] != nil
}

// back returns a downlink packet as it came from the host to which the UE had
// sent, if it is the answer of the one to which it was redirected.
func (d *Redirects) back(u user, nowNs uint64) user {
	if d == nil {
		return u
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ofUE[u.destination()] == nil {
		return u
	}
	if out := d.errorBack(u, nowNs); out != nil {
		return out
	}
	p := u.upper()
	k := flowKey{ue: u.destination(), host: u.source(), protocol: p.protocol}
	if p.hasPorts() {
		k.hostPort, k.uePort = binary.BigEndian.Uint16(p.payload), binary.BigEndian.Uint16(p.payload[2:])
	}
	e := d.flows[k]
	if e == nil || nowNs-e.Value.(*flow).last >= flowQuiet {
		return u
	}
	d.touch(e, nowNs)
	return u.withAddress(true, e.Value.(*flow).original)
}

// withAddress returns a copy of u with another source, or destination, of the
// same IP version. Checksums are changed by the difference, so that wrong ones
// stay wrong. Source: RFC 1624, equation 3.
func (u user) withAddress(source bool, to netip.Addr) user {
	out := append(user(nil), u...)
	at, size := 16, 4
	if u.isIPv6() {
		at, size = 24, 16
	}
	if source {
		at -= size
	}
	address := to.AsSlice()
	change := func(sum []byte) {
		for i := 0; i < size; i += 2 {
			adjust(sum, binary.BigEndian.Uint16(u[at+i:]), binary.BigEndian.Uint16(address[i:]))
		}
	}
	copy(out[at:], address)
	if !u.isIPv6() {
		change(out[10:])
	}
	if sum := out.upperSum(); sum != nil {
		change(sum)
		if binary.BigEndian.Uint16(sum) == 0 {
			sum[0], sum[1] = 0xff, 0xff // UDP's 0 is none; the same to the others
		}
	}
	return out
}

// replaced returns a copy of u with what an IP Address and Port number Replacement names.
// Later fragments have no ports: their packet is identified by its addresses.
// Source: TS 29.244 V18.6.0, 5.33.3 and 8.2.200.
func (u user) replaced(by *api.Replacement) user {
	out := append(user(nil), u...)
	for _, e := range []struct {
		source bool
		v4     uint32
		v6     []byte
		port   uint32
	}{
		{false, by.GetDestinationIpv4(), by.GetDestinationIpv6(), by.GetDestinationPort()},
		{true, by.GetSourceIpv4(), by.GetSourceIpv6(), by.GetSourcePort()},
	} {
		if v6 := u.isIPv6(); !v6 && e.v4 != 0 {
			out = out.withAddress(e.source, ipv4(e.v4))
		} else if v6 && len(e.v6) == 16 {
			out = out.withAddress(e.source, netip.AddrFrom16([16]byte(e.v6)))
		}
		p, at := out.upper(), 2
		if e.source {
			at = 0
		}
		if e.port == 0 || !p.hasPorts() || p.protocol == inet.ProtoSCTP { // SCTP: a CRC over all of it
			continue
		}
		before := binary.BigEndian.Uint16(p.payload[at:])
		binary.BigEndian.PutUint16(p.payload[at:], uint16(e.port))
		if sum := out.upperSum(); sum != nil {
			adjust(sum, before, uint16(e.port))
			if binary.BigEndian.Uint16(sum) == 0 {
				sum[0], sum[1] = 0xff, 0xff
			}
		}
	}
	return out
}

// upperSum returns the checksum of the upper layer that covers the addresses, in
// u's memory; nil: there is none.
func (u user) upperSum() []byte {
	p := u.upper()
	at := -1
	switch p.protocol {
	case inet.ProtoTCP:
		at = 16
	case inet.ProtoUDP:
		at = 6
	case inet.ProtoICMPv6:
		at = 2
	}
	if at < 0 || len(p.payload) < at+2 {
		return nil
	}
	sum := p.payload[at : at+2]
	if p.protocol == inet.ProtoUDP && sum[0] == 0 && sum[1] == 0 {
		return nil
	}
	return sum
}

// adjust changes a checksum for a word that changes.
func adjust(sum []byte, before, after uint16) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + uint32(^before) + uint32(after)
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	binary.BigEndian.PutUint16(sum, ^uint16(s))
}
