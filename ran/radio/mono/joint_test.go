package mono_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/floor"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
	"github.com/plumbline-upf/plumbline/ran/radio/mono"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
	"github.com/plumbline-upf/plumbline/ran/radio/scheduler"
)

// gnb is scheduler and PHY with its UEs, joined.
type gnb struct {
	t     testing.TB
	radio radio.Config
	mac   *scheduler.Scheduler
	phy   *phy.PHY
	mono  *mono.Mono
	now   slot.Number // of the next tick

	uplink   func(ue int, packet []byte) // at the core
	downlink func(ue int, packet []byte) // at the UE
}

// Uplink and Flush make it a [radio.Core].
func (g *gnb) Uplink(ue int, _ uint8, packet []byte) { g.uplink(ue, packet) }
func (g *gnb) Flush()                                {}

func newGNB(t testing.TB, r radio.Config, air phy.Config, ahead int, loss float64) *gnb {
	t.Helper()
	return newGNBOver(t, r, air, ahead, func(p fapi.PHY) fapi.PHY {
		if loss == 0 {
			return p
		}
		return &lossy{PHY: p, probability: loss, random: rand.New(rand.NewPCG(air.Seed, 1))}
	})
}

// newGNBOver is one whose MAC reaches its PHY through what split makes of that.
func newGNBOver(t testing.TB, r radio.Config, air phy.Config, ahead int, split func(fapi.PHY) fapi.PHY) *gnb {
	t.Helper()
	g := &gnb{t: t, radio: r, uplink: func(int, []byte) {}, downlink: func(int, []byte) {}}
	air.Deliver = func(ue int, _ uint8, packet []byte) { g.downlink(ue, packet) }
	var err error
	if g.mac, err = scheduler.New(r, g, scheduler.Options{}); err != nil {
		t.Fatal(err)
	}
	if g.phy, err = phy.New(r, air, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if g.mono, err = mono.New(g.mac, split(g.phy), mono.Config{SlotAhead: ahead}); err != nil {
		t.Fatal(err)
	}
	if err := g.mono.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// attach runs until all UEs are.
func (g *gnb) attach() {
	g.t.Helper()
	for range 100_000 {
		attached := 0
		for i := range g.radio.UEs {
			if g.phy.UE(i).Attached() {
				attached++
			}
		}
		if attached == len(g.radio.UEs) {
			return
		}
		g.tick()
	}
	g.t.Fatalf("UEs are not attached: %+v", g.phy.Stats())
}

func (g *gnb) tick() {
	g.mono.Tick(g.now)
	g.now = g.radio.Numerology.Add(g.now, 1)
}

// lossy loses messages between MAC and PHY, as a network does.
type lossy struct {
	fapi.PHY
	probability float64
	random      *rand.Rand
}

func (l *lossy) Slot(r *fapi.Requests, i *fapi.Indications) {
	l.lose(&r.Have)
	l.PHY.Slot(r, i)
	l.lose(&i.Have)
}

func (l *lossy) lose(have *fapi.Have) {
	for message := fapi.DLTTI; message <= fapi.RACH; message <<= 1 {
		if l.random.Float64() < l.probability {
			*have &^= message
		}
	}
}

// seedRadio is 40 MHz, 7D1S2U, with some UEs.
func seedRadio(ues int) radio.Config {
	r := radio.Default()
	one := r.UEs[0]
	r.UEs = nil
	for i := range ues {
		u := one
		u.RNTI, u.Preamble = one.RNTI+uint16(i), uint8(i)
		r.UEs = append(r.UEs, u)
	}
	return r
}

// stream is packets with numbers, one way of one UE.
type stream struct {
	sent, got, missing uint32
	wrong              string
}

// next is a packet of random size whose octets follow from its number.
func (s *stream) next(r *rand.Rand) []byte {
	p := make([]byte, 40+r.IntN(1417))
	binary.BigEndian.PutUint32(p, s.sent)
	for i := 4; i < len(p); i++ {
		p[i] = byte(int(s.sent) + i)
	}
	s.sent++
	return p
}

// receive checks a packet: in order, and whole.
func (s *stream) receive(p []byte) {
	n := binary.BigEndian.Uint32(p)
	if n < s.got+s.missing || n >= s.sent {
		s.wrong = fmt.Sprintf("packet %d after %d, of %d", n, s.got+s.missing, s.sent)
		return
	}
	for i := 4; i < len(p); i++ {
		if p[i] != byte(int(n)+i) {
			s.wrong = fmt.Sprintf("octet %d of packet %d is %#x", i, n, p[i])
			return
		}
	}
	s.missing = n - s.got
	s.got++
}

// TestTransport sends packets both ways over an air with CRC failures and a split that
// loses messages. With RLC AM all of them arrive, once and in order; with UM those that
// arrive are in order, and nothing is lost where HARQ can repair it.
func TestTransport(t *testing.T) {
	for _, mode := range []string{radio.UM, radio.AM} {
		for _, crc := range []float64{0, 0.1, 0.3} {
			for _, loss := range []float64{0, 0.01} {
				t.Run(fmt.Sprintf("%s, CRC failures %v, loss %v", mode, crc, loss), func(t *testing.T) {
					r := seedRadio(2)
					r.RLC = mode
					air := phy.Config{CRCFailureDownlink: crc, CRCFailureUplink: crc, Seed: 1}
					transport(t, newGNB(t, r, air, 4, loss), mode == radio.AM, loss > 0)
				})
			}
		}
	}
}

func transport(t *testing.T, g *gnb, reliable, lossy bool) {
	g.attach()
	up, down := make([]stream, len(g.radio.UEs)), make([]stream, len(g.radio.UEs))
	g.uplink = func(ue int, p []byte) { up[ue].receive(p) }
	g.downlink = func(ue int, p []byte) { down[ue].receive(p) }
	random := rand.New(rand.NewPCG(3, 4))
	slots := 20_000
	if testing.Short() {
		slots = 4000
	}
	for range slots {
		for i := range g.radio.UEs {
			for range random.IntN(4) { // 1.5 packets per slot: 18 Mbit/s
				if !g.mac.Downlink(i, 9, down[i].next(random)) {
					down[i].sent--
				}
			}
			if random.IntN(8) == 0 && !g.phy.UE(i).Send(up[i].next(random)) {
				up[i].sent--
			}
		}
		g.tick()
	}
	for slots := 0; slots < 20_000 && (slots < 1000 || !g.quiet(up, down)); slots++ {
		g.tick()
	}
	s := g.mac.Stats()
	givenUp := s.Downlink.GivenUp+s.Uplink.GivenUp > 0 // 8 times, with CRC failures of 30 %
	for i := range g.radio.UEs {
		for name, s := range map[string]*stream{"uplink": &up[i], "downlink": &down[i]} {
			if s.wrong != "" {
				t.Errorf("ue %d, %s: %s", i, name, s.wrong)
			}
			switch lost := s.sent - s.got; {
			case lost > 0 && (reliable || !lossy && !givenUp):
				t.Errorf("ue %d, %s: %d of %d packets are lost", i, name, lost, s.sent)
			case float64(lost) > 0.05*float64(s.sent):
				t.Errorf("ue %d, %s: %d of %d packets are lost by UM", i, name, lost, s.sent)
			}
			if s.sent < uint32(slots/16) {
				t.Errorf("ue %d, %s: %d packets were taken", i, name, s.sent)
			}
		}
	}
	if s.Downlink.Busy != 0 || s.Uplink.Busy != 0 {
		t.Errorf("HARQ processes are in use with nothing to send: %+v", s)
	}
	if a := g.phy.Stats(); a.Collisions+a.Misplaced+a.Strangers != 0 {
		t.Errorf("the scheduler asks for what cannot be: %+v", a)
	}
}

// quiet reports whether everything has arrived, and no HARQ process waits.
func (g *gnb) quiet(streams ...[]stream) bool {
	s := g.mac.Stats()
	quiet := s.Downlink.Busy == 0 && s.Uplink.Busy == 0
	for _, s := range slices.Concat(streams...) {
		quiet = quiet && s.got == s.sent
	}
	return quiet
}

// TestThroughput: a queue that is never empty fills the grid.
func TestThroughput(t *testing.T) {
	large := seedRadio(1)
	large.PRBs, large.Layers, large.MCSTable, large.MCS = 273, 4, 1, 27
	for name, r := range map[string]radio.Config{"40 MHz": seedRadio(1), "40 MHz, two UEs": seedRadio(2), "100 MHz, 4 layers": large} {
		t.Run(name, func(t *testing.T) {
			g := newGNB(t, r, phy.Config{}, 6, 0)
			g.attach()
			var up, down int
			g.uplink = func(_ int, p []byte) { up += len(p) }
			g.downlink = func(_ int, p []byte) { down += len(p) }
			payload := make([]byte, 1456)
			fill := func(slots int) {
				for range slots {
					for i := range r.UEs {
						for g.phy.UE(i).Send(payload) {
						}
						for g.mac.Downlink(i, 9, payload) {
						}
					}
					g.tick()
				}
			}
			fill(200)
			up, down = 0, 0
			const slots = 2000
			fill(slots)
			cell, err := grid.New(&r)
			if err != nil {
				t.Fatal(err)
			}
			seconds := slots * r.Numerology.Duration().Seconds()
			downBound, upBound := cell.Bound()
			for _, d := range []struct {
				name       string
				got, bound float64
			}{{"downlink", 8 * float64(down) / seconds, downBound}, {"uplink", 8 * float64(up) / seconds, upBound}} {
				t.Logf("%s: %.1f Mbit/s of %.1f", d.name, d.got/1e6, d.bound/1e6)
				if d.got < 0.95*d.bound || d.got > d.bound {
					t.Errorf("%s: %.1f Mbit/s, the bound is %.1f", d.name, d.got/1e6, d.bound/1e6)
				}
			}
		})
	}
}

// TestPing: a ping takes as long as slots and grants make it: on average over the
// instants of a pattern that is the floor's mean, with PHYs that take no time.
func TestPing(t *testing.T) {
	for _, pattern := range []string{"DDDDDDDSUU", "DDDSU", "DDSU", "SU"} {
		for _, timing := range []struct{ ahead, k2 int }{{6, 6}, {4, 4}, {2, 2}, {1, 1}, {3, 1}, {1, 8}} {
			for _, standing := range []bool{false, true} {
				r := seedRadio(1)
				r.Pattern, r.K2, r.StandingGrant = pattern, timing.k2, standing
				comparePing(t, r, timing.ahead)
			}
		}
	}
	for mu := range slot.MaxNumerology + 1 {
		r := seedRadio(1)
		r.Numerology, r.Pattern, r.K2 = mu, "DDDSU", 3
		comparePing(t, r, 2)
	}
}

func comparePing(t *testing.T, r radio.Config, ahead int) {
	t.Run(fmt.Sprintf("mu %d, %s, ahead %d, k2 %d, standing grant %v", r.Numerology, r.Pattern, ahead, r.K2, r.StandingGrant), func(t *testing.T) {
		r.SRPeriod, r.SROffset = len(r.Pattern), strings.IndexByte(r.Pattern, 'U')
		want, err := floor.Ping(&r, ahead, 0)
		if err != nil {
			t.Fatal(err)
		}
		g := newGNB(t, r, phy.Config{}, ahead, 0)
		g.attach()
		total := 0.0
		for phase := range len(r.Pattern) {
			total += g.ping(phase, len(r.Pattern))
		}
		got := time.Duration(total / float64(len(r.Pattern)) * float64(r.Numerology.Duration()))
		if (got - want.Mean).Abs() > time.Microsecond {
			t.Errorf("the mean is %v, the floor %v", got, want.Mean)
		}
	})
}

// ping sends a packet half a slot before the tick of a slot of the pattern, and returns
// in how many slots the answer is there. The core answers when the tick is over.
func (g *gnb) ping(phase, period int) float64 {
	g.t.Helper()
	for range 400 { // nothing of before is under way
		g.tick()
	}
	for int(g.now)%period != phase {
		g.tick()
	}
	asked, answered := false, false
	g.uplink = func(int, []byte) { asked = true }
	g.downlink = func(int, []byte) { answered = true }
	g.phy.UE(0).Send(make([]byte, 84))
	for slots := range 400 {
		g.tick()
		if answered {
			return float64(slots) + 0.5
		}
		if asked {
			asked = false
			g.mac.Downlink(0, 9, make([]byte, 84))
		}
	}
	g.t.Fatal("no answer")
	return 0
}

// TestNoAllocationsJoint: a loaded cell allocates nothing.
func TestNoAllocationsJoint(t *testing.T) {
	g := newGNB(t, seedRadio(1), phy.Config{CRCFailureDownlink: 0.1, CRCFailureUplink: 0.1}, 6, 0)
	g.attach()
	payload := make([]byte, 1400)
	turn := func() {
		for range 5 {
			g.mac.Downlink(0, 9, payload)
		}
		g.phy.UE(0).Send(payload)
		g.tick()
	}
	for range 4000 {
		turn()
	}
	if got := testing.AllocsPerRun(2000, turn); got != 0 {
		t.Errorf("a slot allocates %v times", got)
	}
}

// BenchmarkSlot is a slot of a cell of 100 MHz and 4 layers whose queues are full.
func BenchmarkSlot(b *testing.B) {
	r := seedRadio(1)
	r.PRBs, r.Layers, r.MCSTable, r.MCS = 273, 4, 1, 27
	g := newGNB(b, r, phy.Config{}, 6, 0)
	g.attach()
	octets := 0
	g.downlink = func(_ int, p []byte) { octets += len(p) }
	payload := make([]byte, 1456)
	for b.Loop() {
		for range 100 {
			g.mac.Downlink(0, 9, payload)
		}
		g.phy.UE(0).Send(payload)
		g.tick()
	}
	b.SetBytes(int64(octets / b.N))
}
