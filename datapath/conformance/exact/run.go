package exact

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// Datapath is one under test. It has no sessions.
type Datapath interface {
	conformance.Datapath
	// Pass lets the clock of meters go on; nothing else does.
	Pass(d time.Duration)
}

// Bed is where datapaths under test come from.
type Bed struct {
	// Open returns one whose meters have this burst (meter_burst). It may be the one
	// that it returned before.
	Open      func(t testing.TB, burst time.Duration) Datapath
	MaxOctets int // of a user packet
}

// Rates in bit/s: the lowest and highest that are promised, those that are known to
// go wrong elsewhere (the whole of a division, 32 bits of kbit/s), and round ones.
var Rates = []uint64{
	64_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000, 150_000_000, 300_000_000, 400_000_000, 510_000_000,
	600_000_000, 700_000_000, 900_000_000, 1_000_000_000, 1_500_000_000, 4_000_000_000, 4_300_000_000, 5_000_000_000,
	10_000_000_000, 25_000_000_000, 40_000_000_000, 100_000_000_000,
}

// Run holds meters against the oracle.
func Run(t *testing.T, bed Bed) {
	t.Run("rates", bed.rates)
	t.Run("several QERs", bed.several)
	t.Run("the clock goes round", bed.clock)
	t.Run("the rate changes", bed.changes)
}

// sender sends packets of one session, plain of package conformance, uplink and
// downlink, and holds each verdict against the oracle.
type sender struct {
	Datapath
	t     testing.TB
	rand  *rand.Rand
	burst time.Duration
	most  int // octets of a packet

	session *api.Session
	limits  [2]map[uint32]*limits // by port, and QER ID
	frames  map[[2]int][]byte
}

func (b Bed) sender(t testing.TB, seed uint64, burst time.Duration) *sender {
	s := &sender{
		Datapath: b.Open(t, burst), t: t, rand: rand.New(rand.NewPCG(seed, 0)), burst: burst, most: b.MaxOctets,
		limits: [2]map[uint32]*limits{{}, {}}, frames: map[[2]int][]byte{},
	}
	t.Cleanup(func() {
		if s.session == nil {
			return
		}
		if err := s.Apply(context.Background(), &api.Change{Seid: s.session.GetSeid()}); err != nil {
			t.Error(err)
		}
	})
	return s
}

// set gives the session these QERs, and a filter that everything matches, so that it
// needs a list, or none.
func (s *sender) set(qers []*api.QER, list bool) {
	s.t.Helper()
	in := conformance.Sessions()[0]
	in.Qers = proto.CloneOf(&api.Session{Qers: qers}).Qers
	for _, r := range in.Rules {
		r.QerIds = nil
		for _, q := range qers {
			r.QerIds = append(r.QerIds, q.GetId())
		}
		if list {
			r.Detect.Filters = []*api.Filter{{Remote: &api.Prefix{Address: make([]byte, 4)}}}
		}
	}
	if err := s.Apply(context.Background(), &api.Change{Seid: in.GetSeid(), Session: in}); err != nil {
		s.t.Fatal(err)
	}
	s.session = in
	for port, source := range []api.Interface{api.Interface_ACCESS, api.Interface_CORE} {
		had := s.limits[port]
		s.limits[port] = map[uint32]*limits{}
		for _, q := range qers {
			l := had[q.GetId()]
			if l == nil {
				l = &limits{}
			}
			l.become(limitsOf(q, source, s.burst))
			s.limits[port][q.GetId()] = l
		}
	}
}

// pass lets time pass, for the oracle too.
func (s *sender) pass(d time.Duration) {
	s.Pass(d)
	for _, port := range s.limits {
		for _, l := range port {
			for _, m := range l.all() {
				m.Pass(d)
			}
		}
	}
}

func (s *sender) frame(port conformance.Port, octets int) []byte {
	k := [2]int{int(port), octets}
	if s.frames[k] == nil {
		up, down := conformance.BenchFramesOf(octets - 28)
		s.frames[[2]int{int(conformance.N3), octets}], s.frames[[2]int{int(conformance.N6), octets}] = up, down
	}
	return append([]byte(nil), s.frames[k]...)
}

// send sends a packet of so many octets and reports whether it passed. If it is too
// close for 2^-8 ns it first waits a little.
func (s *sender) send(port conformance.Port, octets int) bool {
	s.t.Helper()
	var all []*limits
	for _, q := range s.session.Qers {
		all = append(all, s.limits[port][q.GetId()])
	}
	for !sure(all) {
		s.pass(time.Duration(1 + s.rand.IntN(10)))
	}
	want := admit(all, octets)
	if got := s.Frame(s.t, port, s.frame(port, octets)); got.Reason != want || (want == datapath.ReasonNone) != (got.Packet != nil) {
		s.t.Fatalf("%d octets on port %d: %v, want %v", octets, port, got.Reason, want)
	}
	return want == datapath.ReasonNone
}

// octets returns a size: the least, the most, or any.
func (s *sender) octets() int {
	switch s.rand.IntN(4) {
	case 0:
		return 64
	case 1:
		return s.most
	}
	return 64 + s.rand.IntN(s.most-63)
}

// gap returns a time between packets that makes them three times the rate on average,
// and now and then one in which the burst comes back.
func (s *sender) gap(bps uint64) time.Duration {
	mean := float64(s.most) / 2 * 8e9 / float64(bps) / 3
	if s.rand.IntN(64) == 0 {
		mean *= 20
	}
	return time.Duration(mean * 2 * s.rand.Float64())
}

// rates offers three times each rate in packets of all sizes: each verdict is the
// exact one, so what passes is the rate times the time, and the burst.
func (b Bed) rates(t *testing.T) {
	for i, bps := range Rates {
		t.Run(fmt.Sprintf("%d bit/s", bps), func(t *testing.T) {
			const packets, bucket = 250, 8 * 40_000 // bits
			burst := min(250*time.Millisecond, time.Duration(bucket*1e9/bps))
			s := b.sender(t, uint64(i), burst)
			s.set([]*api.QER{{Id: 1, UplinkMbrBps: bps}}, false)
			passed := 0
			for range packets {
				s.pass(s.gap(bps))
				if s.send(conformance.N3, s.octets()) {
					passed++
				}
			}
			if passed < packets/5 || passed > packets*9/10 {
				t.Errorf("%d of %d packets passed: both verdicts have to be seen", passed, packets)
			}
			s.checkError(bps, packets)
		})
	}
}

// checkError: what the datapath may be off without being found is 0.1 % at most, of
// packets of 64 octets.
func (s *sender) checkError(bps uint64, packets uint64) {
	s.t.Helper()
	off := float64(packets) * (slackPlace + 64) / (1 << slackBits)
	if took := float64(packets) * 64 * 8e9 / float64(bps); off > took/1000 {
		s.t.Errorf("%.2f ns of %.2f", off, took)
	}
}
