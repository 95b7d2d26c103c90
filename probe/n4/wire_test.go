package n4

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/slicemap"
)

// The two functions of most tests.
var (
	cpEnd = netip.MustParseAddrPort("10.4.0.2:8805")
	upEnd = netip.MustParseAddrPort("10.4.0.1:8805")
)

// wire is N4 between functions, as a tap sees it, with what the pairing makes of it.
type wire struct {
	*pairing
	t      testing.TB
	tap    *tap
	ended  []Transaction
	learnt map[probe.Key]string // slice by key
	log    []string             // of Learn and Forget
}

func newWire(t testing.TB, c Config) *wire {
	t.Helper()
	w := &wire{t: t, tap: &tap{}, learnt: map[probe.Key]string{}}
	c.Done = func(x Transaction) { w.ended = append(w.ended, x) }
	c.Learn = func(upf int, k probe.Key, s probe.Slice) error {
		w.learnt[k] = s.Name
		w.log = append(w.log, fmt.Sprintf("+%s=%s", keyText(k), s.Name))
		return nil
	}
	c.Forget = func(upf int, k probe.Key) error {
		if _, ok := w.learnt[k]; !ok {
			t.Errorf("forgets %s, which it never learnt", keyText(k))
		}
		delete(w.learnt, k)
		w.log = append(w.log, "-"+keyText(k))
		return nil
	}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	w.pairing = newPairing(&c, func(upf int) string { return fmt.Sprint("upf", upf) })
	return w
}

func keyText(k probe.Key) string {
	if k.TEID != 0 {
		return fmt.Sprintf("%#x", k.TEID)
	}
	return k.UE.String()
}

// ends are the same as an endpoint.
func end(a netip.AddrPort) endpoint { return endpoint{addr16(a.Addr()), a.Port()} }

// at puts a datagram on the wire.
func (w *wire) at(ms int, from, to netip.AddrPort, payload []byte) {
	w.take(&datagram{tap: w.tap, ns: msNs(ms), from: end(from), to: end(to), payload: payload})
}

// cp and up put a datagram of the CP function or UP function on the wire.
func (w *wire) cp(ms int, payload []byte) { w.at(ms, cpEnd, upEnd, payload) }
func (w *wire) up(ms int, payload []byte) { w.at(ms, upEnd, cpEnd, payload) }

// msNs is so many milliseconds after a moment long after the start of the clock.
func msNs(ms int) uint64 { return uint64(time.Hour) + uint64(ms)*uint64(time.Millisecond) }

// octets is a message of go-pfcp as it goes over the wire.
func octets(t testing.TB, m message.Message) []byte {
	t.Helper()
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// accounts is what the series have, by "CP Heartbeat Request".
func (w *wire) accounts() map[string]Account {
	all := map[string]Account{}
	for _, s := range w.snapshot(make([]UPF, 16)) {
		if !balanced(s.Account) {
			w.t.Errorf("%v %v: %+v does not add up", s.Role, s.Type, s.Account)
		}
		if uint64(s.Delay.TotalCount()) != s.Answered {
			w.t.Errorf("%v %v: %d delays of %d answered", s.Role, s.Type, s.Delay.TotalCount(), s.Answered)
		}
		all[s.Role.String()+" "+s.Type.String()] = s.Account
	}
	return all
}

// mapOf reads a slice map.
func mapOf(t testing.TB, text string) *slicemap.Map {
	t.Helper()
	m, err := slicemap.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// balanced reports whether every transaction that began is accounted for.
func balanced(a Account) bool {
	return a.Requests == a.Answered+a.Unanswered+a.Outstanding+a.Evicted
}
