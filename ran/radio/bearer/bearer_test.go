package bearer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// air carries transport blocks from one end to the other as HARQ does: each takes some
// slots, more than the one after it at times, or never comes.
type air struct {
	random   *rand.Rand
	loss     float64 // of a block, for good
	late     float64 // of a block that takes longer
	inFlight []block
}

type block struct {
	at int
	tb []byte
}

func (a *air) send(now int, tb []byte) {
	if a.random.Float64() < a.loss {
		return
	}
	at := now + 1
	if a.random.Float64() < a.late {
		at += 10 * (1 + a.random.IntN(3))
	}
	a.inFlight = append(a.inFlight, block{at, bytes.Clone(tb)})
}

func (a *air) receive(now int, to *Bearer, t *testing.T) (waiting int) {
	rest := a.inFlight[:0]
	waiting = -1
	for _, b := range a.inFlight {
		if b.at > now {
			rest = append(rest, b)
			continue
		}
		w, err := to.Receive(b.tb)
		if err != nil {
			t.Fatalf("slot %d: %v", now, err)
		}
		waiting = max(waiting, w)
	}
	a.inFlight = rest
	return waiting
}

// packets makes packets with their number in front, and checks those that come.
type packets struct {
	random    *rand.Rand
	sent      uint64
	next      uint64
	delivered uint64
	err       error
}

func (p *packets) make(longest int) []byte {
	b := make([]byte, 9+p.random.IntN(longest))
	for i := range b {
		b[i] = byte(p.sent) + byte(i)
	}
	binary.BigEndian.PutUint64(b, p.sent)
	return b
}

func (p *packets) deliver(qfi uint8, b []byte) {
	n := binary.BigEndian.Uint64(b)
	if n < p.next || qfi != 9 {
		p.err = fmt.Errorf("packet %d of QFI %d comes after %d", n, qfi, p.next)
	}
	for i := 8; i < len(b); i++ {
		if b[i] != byte(n)+byte(i) {
			p.err = fmt.Errorf("packet %d: octet %d is %#02x", n, i, b[i])
		}
	}
	p.next = n + 1
	p.delivered++
}

// TestTransfer: packets of all lengths in blocks of all sizes, which come late, out of
// order or not at all, are delivered once and in order. AM delivers all of them, UM
// those that were not lost; nothing is left waiting at either end.
func TestTransfer(t *testing.T) {
	for _, mode := range []string{"um", "am"} {
		for _, loss := range []float64{0, 0.001, 0.05, 0.3} {
			for _, late := range []float64{0, 0.1} {
				t.Run(fmt.Sprintf("%s/loss %g/late %g", mode, loss, late), func(t *testing.T) {
					testTransfer(t, mode, loss, late)
				})
			}
		}
	}
}

func testTransfer(t *testing.T, mode string, loss, late float64) {
	const slots = 1500
	random := rand.New(rand.NewPCG(7, uint64(loss*1000+late*10)))
	down, up := &packets{random: random}, &packets{random: random}
	config := Config{Mode: mode, Numerology: 1}
	gnb, err := New(config, up.deliver)
	if err != nil {
		t.Fatal(err)
	}
	config.UE = true
	ue, err := New(config, down.deliver)
	if err != nil {
		t.Fatal(err)
	}
	toUE, toGNB := &air{random: random, loss: loss, late: late}, &air{random: random, loss: loss, late: late}
	tb := make([]byte, 20000)
	offer := func(from *Bearer, p *packets) {
		for range random.IntN(6) {
			if from.Send(9, p.make(3000)) {
				p.sent++
			}
		}
	}
	const quiet = 2500
	for now := range slots + quiet {
		if now == slots {
			toUE.loss, toGNB.loss, toUE.late, toGNB.late = 0, 0, 0, 0
		}
		gnb.Tick(slot.Numerology(1).Add(20000, now))
		ue.Tick(slot.Numerology(1).Add(20000, now))
		toUE.receive(now, ue, t)
		if w := toGNB.receive(now, gnb, t); w > 0 && loss == 0 && late == 0 && w < 9 {
			t.Fatalf("slot %d: the UE says that it has %d octets", now, w)
		}
		if now < slots {
			offer(gnb, down)
			offer(ue, up)
		}
		size := 1 + random.IntN(len(tb))
		if random.IntN(4) == 0 {
			size = 1 + random.IntN(40)
		}
		gnb.Fill(tb[:size])
		toUE.send(now, tb[:size])
		ue.Fill(tb[:size])
		toGNB.send(now, tb[:size])
	}
	for name, p := range map[string]*packets{"downlink": down, "uplink": up} {
		if p.err != nil {
			t.Errorf("%s: %v", name, p.err)
		}
		if p.delivered > p.sent || p.delivered < p.sent && (mode == "am" || loss == 0) || p.delivered < p.sent/4 {
			t.Errorf("%s: %d of %d packets delivered", name, p.delivered, p.sent)
		}
	}
	for name, b := range map[string]*Bearer{"gNB": gnb, "UE": ue} {
		if s := b.Stats(); b.Buffered() != 0 || s.BadBlocks != 0 || b.pdcp.Waiting() != 0 {
			t.Errorf("%s: %d octets wait, %d in PDCP; %+v", name, b.Buffered(), b.pdcp.Waiting(), s)
		}
	}
}
