package stages

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// recorded returns the datagrams of testdata/initials.txt, in their order: what the
// client of quic-go v0.65.0, made with Go 1.26.8, says to www.example.org until it is
// answered. Of those with X25519MLKEM768 the ClientHello is in two packets.
func recorded(t testing.TB, label string) (datagrams [][]byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/initials.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == label {
			datagrams = append(datagrams, unhex(t, f[2]))
		}
	}
	return datagrams
}

// TestQUICRecorded: the Initial packets of another implementation are read.
func TestQUICRecorded(t *testing.T) {
	for _, tc := range []struct {
		label string
		want  int // datagrams
	}{{"v1-small", 1}, {"v1-pq", 2}, {"v2-pq", 2}} {
		said := recorded(t, tc.label)
		if len(said) != tc.want {
			t.Fatalf("%s: %d datagrams, want %d", tc.label, len(said), tc.want)
		}
		for _, backwards := range []bool{false, true} {
			q := &quicHello{}
			if backwards {
				said[0], said[len(said)-1] = said[len(said)-1], said[0]
			}
			name, v := q.says(said[0])
			if tc.want == 2 && backwards && v != nameMore {
				t.Errorf("%s: the second datagram alone says %q, %d", tc.label, name.host, v)
			}
			if tc.want == 2 {
				name, v = q.says(said[1])
			}
			if v != nameFound || name.host != "www.example.org" {
				t.Errorf("%s, backwards %t: got %q, %d", tc.label, backwards, name.host, v)
			}
		}
	}
}

// datagramOf is a packet with UDP of the UE, 10.0.0.1, port 5000, or to it.
type datagramOf struct {
	port   uint16
	down   bool
	data   []byte
	change func(u user)
}

// seesDatagram lets a datagram of session seid be seen.
func (n *Names) seesDatagram(seid uint64, d datagramOf, nowNs uint64) (host string) {
	source, destination, from, to := [4]byte{10, 0, 0, 1}, [4]byte{192, 0, 2, 1}, uint16(5000), d.port
	if d.down {
		source, destination, from, to = destination, source, to, from
	}
	u := user(append([]byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, inet.ProtoUDP, 0, 0}, append(source[:], destination[:]...)...))
	u = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(u, from), to)
	u = append(binary.BigEndian.AppendUint16(u, uint16(inet.LenUDP+len(d.data))), 0, 0)
	u = append(u, d.data...)
	binary.BigEndian.PutUint16(u[2:], uint16(len(u)))
	binary.BigEndian.PutUint16(u[10:], checksum.Of(u[:20]))
	binary.BigEndian.PutUint16(u[26:], UpperChecksum(u, inet.ProtoUDP, 20))
	if d.change != nil {
		d.change(u)
	}
	f := fieldsOf(u, !d.down)
	name, known := n.look(seid, &f, u, !d.down, nowNs)
	again, knownAgain := n.look(seid, &f, u, !d.down, nowNs)
	if again != name || known != knownAgain {
		return "not what the first filter saw"
	}
	if !known {
		return ""
	}
	return name.host
}

// quicTalk makes Initial packets of connections to a.test and b.test, one octet apart.
type quicTalk struct {
	t     testing.TB
	id    string
	hello []byte
}

func newQUICTalk(t testing.TB, id, host string) quicTalk {
	return quicTalk{t, id, hello(t, &tls.Config{ServerName: host, CurvePreferences: []tls.CurveID{tls.X25519}})[lenRecord:]}
}

// says is a datagram with so much of the ClientHello.
func (c quicTalk) says(number uint32, from, to int) []byte {
	return seal(c.t, newKeys(c.t, quicVersion1, []byte(c.id)), []byte(c.id), number, crypto(c.hello, from, to-from), 1200)
}

func (c quicTalk) all() []byte { return c.says(0, 0, len(c.hello)) }

// TestNamesOfQUIC: a flow has the name that all Initial packets say, and none while one
// is not complete, or when two have not said the same.
func TestNamesOfQUIC(t *testing.T) {
	a, b := newQUICTalk(t, "12345678", "a.test"), newQUICTalk(t, "87654321", "b.test")
	again := a
	again.id = "abcdefgh"
	short := seal(t, newKeys(t, quicVersion1, []byte(a.id)), []byte(a.id), 0, crypto(a.hello, 0, len(a.hello)), 800)
	data := []byte{0x40, 1, 2, 3}
	fragment := func(u user) {
		u[6] = 0x20
		u[10], u[11] = 0, 0
		binary.BigEndian.PutUint16(u[10:], checksum.Of(u[:20]))
	}
	for _, tc := range []struct {
		name string
		in   []datagramOf
		want []string
	}{
		{"in one", []datagramOf{{data: data}, {data: a.all()}, {data: data}, {data: data, down: true}}, []string{"", "a.test", "a.test", "a.test"}},
		{"of the remote end", []datagramOf{{data: a.all(), down: true}, {data: data}, {data: b.all()}}, []string{"a.test", "a.test", "a.test"}},
		{"in two", []datagramOf{{data: a.says(0, 0, 60)}, {data: data}, {data: a.says(1, 60, len(a.hello))}}, []string{"", "", "a.test"}},
		{"another name", []datagramOf{{data: a.all()}, {data: b.all()}, {data: a.all()}, {data: data}}, []string{"a.test", "", "", ""}},
		{"another connection of the same name", []datagramOf{{data: a.all()}, {data: again.says(0, 0, 60)}, {data: again.says(1, 60, len(a.hello))}},
			[]string{"a.test", "", "a.test"}},
		{"sent again", []datagramOf{{data: a.all()}, {data: a.says(1, 60, 100)}, {data: a.says(2, 0, 20)}}, []string{"a.test", "a.test", "a.test"}},
		{"a wrong checksum", []datagramOf{{data: a.all(), change: func(u user) { u[26] ^= 1 }}, {data: b.all()}}, []string{"", "b.test"}},
		{"no checksum", []datagramOf{{data: a.all(), change: func(u user) { u[26], u[27] = 0, 0 }}}, []string{"a.test"}},
		{"in a fragment", []datagramOf{{data: a.all(), change: fragment}, {data: a.all()}}, []string{"", ""}},
		{"a length of UDP that is not all", []datagramOf{{data: a.all()}, {data: b.all(), change: func(u user) { u[25]-- }}}, []string{"a.test", ""}},
		{"a short datagram", []datagramOf{{data: short}, {data: a.all()}}, []string{"", ""}},
		{"no QUIC", []datagramOf{{data: bytes.Repeat([]byte{0x80}, 1300)}, {data: a.all()}}, []string{"", "a.test"}},
	} {
		n := NewNames(nil)
		for i, d := range tc.in {
			d.port = 443
			if got := n.seesDatagram(1, d, 0); got != tc.want[i] {
				t.Errorf("%s: datagram %d: got %q, want %q", tc.name, i, got, tc.want[i])
			}
		}
	}
	n := NewNames(nil)
	n.seesDatagram(1, datagramOf{port: 443, data: a.all()}, 0)
	if got := n.seesDatagram(1, datagramOf{port: 443, data: data}, namedIdleUDP); got != "a.test" {
		t.Errorf("silent for a while: got %q", got)
	}
	if got := n.seesDatagram(1, datagramOf{port: 443, data: data}, 2*namedIdleUDP+1); got != "" {
		t.Errorf("silent for too long: got %q", got)
	}
}

// TestNamesOfQUICBounds: what is kept of flows has bounds, and another's name stays.
func TestNamesOfQUICBounds(t *testing.T) {
	a := newQUICTalk(t, "12345678", "a.test")
	whole, part := a.all(), a.says(0, 0, 60)
	n := NewNames(nil)
	n.seesDatagram(1, datagramOf{port: 443, data: whole}, 0)
	for port := range uint16(2 * maxNamedSession) {
		n.seesDatagram(2, datagramOf{port: 1 + port, data: whole}, 0)
		n.seesDatagram(3, datagramOf{port: 1 + port, data: part}, 0)
		n.seesDatagram(2, datagramOf{port: 1 + port, data: []byte("no QUIC"), down: true}, 0)
	}
	if n.held.Len() != 1+maxHeldQUICSession || n.partial.Len() != maxPartialSession || n.all.Len() != 1+2*maxNamedSession {
		t.Errorf("%d flows, %d are held, %d partial", n.all.Len(), n.held.Len(), n.partial.Len())
	}
	kept := 0
	for _, flow := range n.flows {
		if flow.quic != nil && (flow.quic.keys != nil || flow.quic.data != nil) {
			kept++
		}
	}
	if kept != n.held.Len()+n.partial.Len() {
		t.Errorf("of %d flows a ClientHello is kept", kept)
	}
	sealed := datagramOf{port: 2*maxNamedSession - maxHeldQUICSession - 1, data: []byte{0x40}}
	for _, step := range []struct {
		data []byte
		want string
	}{{[]byte{0x40}, "a.test"}, {a.says(1, 60, len(a.hello)), ""}, {[]byte{0x40}, ""}, {a.says(2, 0, 60), "a.test"}, {whole, "a.test"}} {
		sealed.data = step.data
		if got := n.seesDatagram(2, sealed, 0); got != step.want {
			t.Errorf("a flow whose ClientHello is not kept: got %q, want %q", got, step.want)
		}
	}
	if got := n.seesDatagram(1, datagramOf{port: 443, data: []byte{0x40}}, 0); got != "a.test" {
		t.Errorf("another session's flow: got %q", got)
	}
	for seid := range uint64(4) {
		n.Forget(seid)
	}
	if n.all.Len()+n.partial.Len()+n.held.Len()+len(n.own) != 0 {
		t.Errorf("%d flows of nobody", n.all.Len())
	}
	for i := range uint32(maxInitials + 2) {
		got := n.seesDatagram(1, datagramOf{port: 443, data: a.says(i, 0, len(a.hello))}, 0)
		if want := map[bool]string{true: "a.test"}[i < maxInitials]; got != want {
			t.Errorf("Initial %d: got %q, want %q", i, got, want)
		}
	}
}

// TestTeach: a learner that learns under another number knows UDP flows at once, and by
// the old one until it is told to forget.
func TestTeach(t *testing.T) {
	l := newLearned()
	n := NewNames(l)
	a := newQUICTalk(t, "12345678", "a.test")
	n.seesDatagram(1, datagramOf{port: 443, data: a.all()}, 7)
	n.seesDatagram(1, datagramOf{port: 444, data: a.says(0, 0, 60)}, 7)
	if len(l.said) != 1 {
		t.Fatalf("the learner knows %v", l.said)
	}
	var forgotten []uint64
	l.number = 2
	l.forgets = func(number uint64) { forgotten = append(forgotten, number) }
	forget := n.Teach(1)
	for f := range l.said {
		if l.under[f] != 2 || !l.said[f].Match("a.test", "") || len(l.said) != 1 || len(forgotten) != 0 {
			t.Errorf("%+v: known by %d as %+v; forgotten: %v", f, l.under[f], l.said[f], forgotten)
		}
	}
	if forget(); len(forgotten) != 1 || forgotten[0] != 1 {
		t.Errorf("forgotten: %v, want that of number 1", forgotten)
	}
}
