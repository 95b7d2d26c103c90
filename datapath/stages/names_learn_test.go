package stages

import (
	"net/netip"
	"testing"
)

// learned is a [Learner] that notes what it was told.
type learned struct {
	number uint64
	said   map[NamedFlow]Said
	under  map[NamedFlow]uint64
	used   map[uint16]uint64 // by local port
	full   bool

	forgets func(number uint64) // nil: nobody is told, and it is Forget
}

func newLearned() *learned {
	return &learned{number: 1, said: map[NamedFlow]Said{}, under: map[NamedFlow]uint64{}, used: map[uint16]uint64{}}
}

func (l *learned) Learns(uint64) uint64 { return l.number }

func (l *learned) Learn(number uint64, f NamedFlow, s Said, _ uint64) bool {
	if l.full {
		return false
	}
	l.said[f], l.under[f] = s, number
	return true
}

func (l *learned) Forget(number uint64, f NamedFlow) {
	if l.forgets != nil {
		l.forgets(number)
		return
	}
	if l.under[f] != number {
		panic("forgotten under another number")
	}
	delete(l.said, f)
	delete(l.under, f)
}

// UsedNs says that a flow that is used was used again since it was last asked for.
func (l *learned) UsedNs(_ uint64, f NamedFlow) uint64 {
	if l.used[f.LocalPort] != 0 {
		l.used[f.LocalPort]++
	}
	return l.used[f.LocalPort]
}

// TestLearner: the learner knows of each flow what is known, and nothing of one
// whose name is not complete, or that is forgotten.
func TestLearner(t *testing.T) {
	l := newLearned()
	n := NewNames(l)
	flow := NamedFlow{1, netip.AddrFrom4([4]byte{1}), netip.AddrFrom4([4]byte{2}), 443, 7, false}
	const head, rest, other = "GET /a HTTP/1.1\r\n", "Host: a.test\r\n\r\n", "GET /b HTTP/1.1\r\nHost: b.test\r\n\r\n"
	for _, step := range []struct {
		name   string
		number uint64
		seq    uint32
		flags  byte
		data   string
		knows  bool
		host   string // "": none
	}{
		{"no name", 1, 10, tcpACK, "hello", true, ""},
		{"half a name", 1, 15, tcpACK, head, false, ""},
		{"the same again", 1, 15, tcpACK, head, false, ""},
		{"the other half", 1, 15 + uint32(len(head)), tcpACK, rest, true, "a.test"},
		{"another", 1, 15 + uint32(len(head+rest)), tcpACK, other, true, "b.test"},
		{"under another number", 2, 20, tcpACK, "", true, "b.test"},
		{"no learner", 0, 20, tcpACK, "", false, ""},
		{"somebody does", 3, 20, tcpACK, "", true, "b.test"},
		{"RST", 3, 20, tcpRST, "", false, ""},
		{"behind it", 3, 20, tcpACK, "", true, ""},
		{"SYN, which may be ignored", 3, 30, tcpSYN, "", false, ""},
	} {
		l.number = step.number
		n.say(1, 7, step.seq, step.flags, step.data, 0)
		said, knows := l.said[flow]
		if knows != step.knows || said.Match("", "") != (step.host != "") || step.host != "" && !said.Match(step.host, "") {
			t.Errorf("%s: the learner knows %t, %+v; want %t, host %q", step.name, knows, said, step.knows, step.host)
		}
	}
	l.full = true
	if _, known := n.say(1, 8, 1, tcpACK, other, 0); !known || len(l.said) != 0 {
		t.Errorf("known %t, learnt %d; want true and none", known, len(l.said))
	}
}

// TestLearnerUses: a flow lasts as long as the learner sees packets of it, and is
// not given up for new ones while it does.
func TestLearnerUses(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	l := newLearned()
	n := NewNames(l)
	n.say(1, 1, 1, tcpACK, request, 0)
	n.say(1, 2, 1, tcpACK, request, 0)
	l.used[1] = namedIdle
	if _, known := n.say(1, 1, 1, tcpACK, request, 2*namedIdle-1); !known {
		t.Error("a flow that was used is forgotten")
	}
	if _, known := n.say(1, 2, 99, tcpACK, "body", 2*namedIdle-1); known {
		t.Error("a flow that was silent is known")
	}
	l.used[1] = 3 * namedIdle
	for i := range uint16(2 * maxNamedSession) {
		n.say(1, 10+i, 1, tcpSYN, "", 2*namedIdle+uint64(i))
	}
	if _, known := n.say(1, 1, 1, tcpACK, request, 3*namedIdle); !known || len(l.said) != maxNamedSession {
		t.Errorf("known %t, the learner knows %d flows; want true, %d", known, len(l.said), maxNamedSession)
	}
	n.Forget(1)
	if len(l.said) != 0 {
		t.Errorf("the learner knows %d flows of nobody", len(l.said))
	}
}

// TestShows: which packets may change what is known.
func TestShows(t *testing.T) {
	for _, tc := range []struct {
		name string
		said Said
		want bool
	}{
		{"nothing known", Said{}, true},
		{"SYN seen", Said{Uplink: true, Stream: true, fromSYN: true}, false},
		{"TLS", Said{Known: true, Uplink: true, final: true}, false},
		{"HTTP", Said{name: flowName{"a", "/"}, Known: true, Uplink: true, Stream: true, begun: true}, false},
	} {
		if got := tc.said.Shows(); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
