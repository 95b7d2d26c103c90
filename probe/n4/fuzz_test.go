package n4

import (
	"encoding/binary"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// FuzzPairing puts any datagrams on the wire, from and to few endpoints. Every account
// must add up, every table keep its bound, and what is held be what waits.
//
// The input is a script: an octet for who sends (bit 0) and how much later (the others),
// two of length, and the datagram.
func FuzzPairing(f *testing.F) {
	for _, v := range pfcptest.Good(f) {
		f.Add(script(v.Octets, v.Octets))
	}
	f.Add(script(pfcptest.Get(f, "gopfcp-establishment-choose").Octets, pfcptest.Get(f, "gopfcp-establishment-response").Octets,
		pfcptest.Get(f, "gopfcp-modification").Octets, pfcptest.Get(f, "gopfcp-deletion").Octets))
	f.Fuzz(func(t *testing.T, in []byte) {
		const bound, sessions = 4, 2
		w := newWire(t, Config{Transactions: bound, Sessions: sessions})
		ms := 0
		for len(in) >= 3 {
			ends := []func(int, []byte){w.cp, w.up}
			size := min(int(binary.BigEndian.Uint16(in[1:])), len(in)-3)
			ms += int(in[0]>>1) * 100
			ends[in[0]&1](ms, in[3:][:size])
			in = in[3+size:]
			w.check(t, bound, sessions)
		}
		w.expire(msNs(1 << 30))
		for name, a := range w.accounts() {
			if a.Outstanding != 0 {
				t.Errorf("%s: %+v when all is over", name, a)
			}
		}
		if w.learner.held != 0 || len(w.table.byKey) != 0 {
			t.Errorf("when all is over %d octets are held of %d transactions", w.learner.held, len(w.table.byKey))
		}
	})
}

// script is datagrams that the CP function and the UP function send in turn.
func script(datagrams ...[]byte) (b []byte) {
	for i, d := range datagrams {
		b = append(b, byte(i&1|2), byte(len(d)>>8), byte(len(d)))
		b = append(b, d...)
	}
	return b
}

// check looks at everything that must hold at any moment.
func (w *wire) check(t *testing.T, bound, sessions int) {
	t.Helper()
	w.accounts()
	if len(w.table.entries) > bound || len(w.table.byKey) > bound {
		t.Fatalf("%d transactions, %d entries: want up to %d", len(w.table.byKey), len(w.table.entries), bound)
	}
	held := 0
	for i := range w.table.entries {
		held += len(w.table.entries[i].body)
	}
	l := w.learner
	if l.held != held {
		t.Fatalf("%d octets held, %d counted", held, l.held)
	}
	if l.count > sessions || len(l.owners) > keysOfSession*sessions || len(l.owners) != len(w.learnt) {
		t.Fatalf("%d sessions, %d keys, %d told of", l.count, len(l.owners), len(w.learnt))
	}
	keys := 0
	for _, s := range l.sessions {
		for _, k := range s.learnt {
			if l.owners[ownerKey{s.upf, k.key}] == s && s == l.sessions[s.at[0]] {
				keys++
			}
		}
	}
	if l.count == len(l.sessions) && keys != len(l.owners) {
		t.Fatalf("%d keys of sessions, %d have owners", keys, len(l.owners))
	}
}

// FuzzRecord takes any octets for a record.
func FuzzRecord(f *testing.F) {
	f.Add(make([]byte, lenHead+20))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWire(t, Config{Transactions: 4})
		w.takeRecord([]*tap{w.tap}, b)
		if c := w.tap.count; c.Octets > uint64(len(b)) || c.Datagrams > uint64(len(b)) {
			t.Errorf("got %+v of %d octets", c, len(b))
		}
		w.accounts()
	})
}
