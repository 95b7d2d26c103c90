package mono_test

import (
	"fmt"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// loser loses what is told of the slots from and up to, and nothing else.
type loser struct {
	fapi.PHY
	mu       slot.Numerology
	from, to slot.Number
	what     fapi.Have
	lost     int // messages
}

func (l *loser) Slot(r *fapi.Requests, i *fapi.Indications) {
	hit := l.mu.Distance(r.At, l.from) >= 0 && l.mu.Distance(r.At, l.to) < 0
	if hit {
		l.lose(&r.Have)
	}
	l.PHY.Slot(r, i)
	if hit {
		l.lose(&i.Have)
	}
}

func (l *loser) lose(have *fapi.Have) {
	for message := fapi.DLTTI; message <= fapi.RACH; message <<= 1 {
		if *have&l.what&message != 0 {
			l.lost++
		}
	}
	*have &^= l.what
}

// saturated is a cell with one UE whose queues are never empty, over a [loser].
type saturated struct {
	*gnb
	loser    *loser
	received [2]direction // downlink, uplink
}

// direction is what was delivered in order at one end.
type direction struct {
	octets int
	silent int // slots since the last packet
	pause  int // the longest silence, slots
}

func (d *direction) slot(had int) {
	if d.silent++; d.octets > had {
		d.silent = 0
	}
	d.pause = max(d.pause, d.silent)
}

func newSaturated(t *testing.T, r radio.Config, ahead int) *saturated {
	t.Helper()
	s := &saturated{loser: &loser{mu: r.Numerology}}
	s.gnb = newGNBOver(t, r, phy.Config{}, ahead, func(p fapi.PHY) fapi.PHY {
		s.loser.PHY = p
		return s.loser
	})
	s.downlink = func(_ int, p []byte) { s.received[0].octets += len(p) }
	s.uplink = func(_ int, p []byte) { s.received[1].octets += len(p) }
	s.attach()
	s.run(500)
	return s
}

// run lets slots pass, and returns what was delivered in them.
func (s *saturated) run(slots int) [2]direction {
	s.received = [2]direction{}
	payload := make([]byte, 1400)
	for range slots {
		for s.phy.UE(0).Send(payload) {
		}
		for s.mac.Downlink(0, 9, payload) {
		}
		had := [2]int{s.received[0].octets, s.received[1].octets}
		s.tick()
		for i := range s.received {
			s.received[i].slot(had[i])
		}
	}
	return s.received
}

// lose loses what in so many slots from one on, and returns what was delivered in slots
// that begin with it.
func (s *saturated) lose(what fapi.Have, from slot.Number, of, slots int) [2]direction {
	mu := s.radio.Numerology
	s.loser.from, s.loser.to, s.loser.what, s.loser.lost = from, mu.Add(from, of), what, 0
	s.run(mu.Distance(from, s.now))
	return s.run(slots)
}

// messages of P7, and what is lost together.
var messages = []struct {
	name string
	what fapi.Have
}{
	{"DL_TTI", fapi.DLTTI},
	{"TX_DATA", fapi.TXData},
	{"UL_TTI", fapi.ULTTI},
	{"UL_DCI", fapi.ULDCI},
	{"UCI", fapi.UCI},
	{"CRC", fapi.CRC},
	{"RX_DATA", fapi.RXData},
	{"half of a pair", fapi.DLTTI | fapi.TXData},
	{"all requests", fapi.DLTTI | fapi.TXData | fapi.ULTTI | fapi.ULDCI},
	{"all indications", fapi.UCI | fapi.CRC | fapi.RXData},
}

// share is what part of the octets were delivered, in per cent.
func share(got, of direction) float64 { return 100 * float64(got.octets) / float64(of.octets) }

const directions = 2

var directionNames = [directions]string{"downlink", "uplink"}

// harqTurn is the longest that a message that was lost may hold up a transport block, in
// slots: its feedback comes in the next uplink slot but one, a period at most; it is
// missed as many slots behind it as the MAC is ahead, and three; then the MAC is as many slots ahead, and
// waits for a slot of the same kind in the pattern.
func harqTurn(r *radio.Config, ahead int) int {
	const overdue = 3
	return len(r.Pattern) + 1 + ahead + overdue + len(r.Pattern)
}

// TestOneLost loses one message of each kind in each of 40 slots: what it held up is there
// after one turn of HARQ, RLC has nothing to repair, and what it cost is what the transport
// blocks carry that had to be sent again.
func TestOneLost(t *testing.T) {
	const watched, positions = 200, 40
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, mode := range []string{radio.AM, radio.UM} {
		for _, ahead := range []int{2, 6} {
			r := seedRadio(1)
			r.RLC = mode
			for _, m := range messages {
				t.Run(fmt.Sprintf("%s, ahead %d, %s", mode, ahead, m.name), func(t *testing.T) {
					t.Parallel()
					s := newSaturated(t, r, ahead)
					calm := s.run(watched)
					turn, lost := harqTurn(&r, ahead), 0
					worst := calm
					least := [directions]int{calm[0].octets, calm[1].octets}
					for at := 0; at < positions; at += step {
						from := r.Numerology.Add(s.now, 1+positions+at-int(s.now)%positions)
						got := s.lose(m.what, from, 1, watched)
						lost += s.loser.lost
						for i := range got {
							worst[i].pause = max(worst[i].pause, got[i].pause)
							least[i] = min(least[i], got[i].octets)
						}
					}
					t.Logf("%d messages lost", lost)
					if s := s.mac.Stats(); s.Downlink.GivenUp+s.Uplink.GivenUp > 0 {
						t.Errorf("transport blocks were given up: %+v", s)
					}
					for i := range directions {
						part := 100 * float64(least[i]) / float64(calm[i].octets)
						t.Logf("%s: pause %d slots, %d without loss; at least %.1f %% of the octets", directionNames[i], worst[i].pause, calm[i].pause, part)
						// A period's blocks of one direction are a twentieth of what is watched.
						if part < 95-2 {
							t.Errorf("%s: %.1f %% of the octets were delivered", directionNames[i], part)
						}
						if worst[i].pause > calm[i].pause+turn {
							t.Errorf("%s: nothing was delivered for %d slots, %d without loss: a turn of HARQ is %d", directionNames[i], worst[i].pause, calm[i].pause, turn)
						}
					}
					if lost == 0 {
						t.Error("nothing was lost")
					}
				})
			}
		}
	}
}

// TestAllLost loses everything for some slots, as when the VNF had no CPU. What HARQ can bring is
// there after a turn of it, and as many slots more: one of a period is an S slot, whose transport
// block can be sent again in such a one only. If a transport block was given up meanwhile, RLC AM waits
// for t-Reassembly, reports, and has it sent again.
func TestAllLost(t *testing.T) {
	const watched, ahead = 1000, 6
	r := seedRadio(1)
	reassembly := int(bearer.DefaultReassembly / r.Numerology.Duration())
	turn := harqTurn(&r, ahead)
	for _, slots := range []int{2, 5, 10, 20, 50, 100, 150, 200, 300, 500} {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) {
			t.Parallel()
			s := newSaturated(t, r, ahead)
			calm := s.run(watched)
			givenUp := s.mac.Stats()
			s.loser.from, s.loser.to, s.loser.what = s.now, r.Numerology.Add(s.now, slots), ^fapi.Have(0)
			s.run(slots)
			got := s.run(watched)
			after := s.mac.Stats()
			for i, blocks := range [directions]uint64{after.Downlink.GivenUp - givenUp.Downlink.GivenUp, after.Uplink.GivenUp - givenUp.Uplink.GivenUp} {
				bound := calm[i].pause + turn + slots
				if blocks > 0 {
					bound = calm[i].pause + reassembly + 2*turn
				}
				t.Logf("%s: %d blocks given up; pause of %d slots, %d without loss; %.1f %% of the octets", directionNames[i], blocks, got[i].pause, calm[i].pause, share(got[i], calm[i]))
				if got[i].pause > bound {
					t.Errorf("%s: nothing was delivered for %d slots after everything was lost for %d: %d are needed", directionNames[i], got[i].pause, slots, bound)
				}
				// Meanwhile nothing else is lost: the queues were full, and go on.
				if got[i].octets < calm[i].octets*9/10 {
					t.Errorf("%s: %.1f %% of the octets were delivered in %d slots afterwards", directionNames[i], share(got[i], calm[i]), watched)
				}
			}
		})
	}
}
