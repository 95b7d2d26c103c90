package stages

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// hello is a ClientHello of crypto/tls.
func hello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		_ = tls.Client(client, config).Handshake() // nobody answers
	}()
	buf := make([]byte, 8192)
	n, err := server.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// records cuts the only record in b into several of size octets.
func records(b []byte, size int) []byte {
	var out []byte
	for message := b[lenRecord:]; len(message) > 0; {
		n := min(size, len(message))
		out = binary.BigEndian.AppendUint16(append(out, tlsHandshake, 3, 1), uint16(n))
		out, message = append(out, message[:n]...), message[n:]
	}
	return out
}

// readName reads the name that the beginning of a stream shows.
func readName(b []byte) (flowName, nameVerdict) {
	switch {
	case !showsName(b):
		return flowName{}, nameNone
	case isHello(b):
		return helloName(b)
	}
	r := &requests{}
	r.read(b)
	name, ok := r.known()
	switch {
	case ok:
		return name, nameFound
	case r.at == partInvalid || r.settled():
		return flowName{}, nameNone
	}
	return flowName{}, nameMore
}

func TestReadName(t *testing.T) {
	whole := hello(t, &tls.Config{ServerName: "Host.Example.org"})
	for _, tc := range []struct {
		name string
		in   []byte
		want flowName
		v    nameVerdict
	}{
		{"TLS", whole, flowName{host: "host.example.org"}, nameFound},
		{"TLS in records of 7 octets", records(whole, 7), flowName{host: "host.example.org"}, nameFound},
		{"TLS without a name", hello(t, &tls.Config{InsecureSkipVerify: true}), flowName{}, nameNone},
		{"TLS, cut off before the name", whole[:60], flowName{}, nameMore},
		{"TLS, a ServerHello", append([]byte{22, 3, 3, 0, 4, 2}, 0, 0, 0), flowName{}, nameNone},
		{"TLS, then no handshake", []byte{22, 3, 1, 0, 1, 1, 23, 3, 3, 0, 1, 0}, flowName{}, nameMore},
		{"HTTP", []byte("GET /a?b HTTP/1.0\r\nAccept: *\r\nHOST:  a.Test. \r\n\r\n"), flowName{"a.test", "/a?b"}, nameFound},
		{"HTTP with a port", []byte("PUT / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n"), flowName{"[2001:db8::1]", "/"}, nameFound},
		{"HTTP to a proxy", []byte("GET http://a.test:81/b HTTP/1.1\r\nHost: a.test:81\r\n\r\n"), flowName{"a.test", "/b"}, nameFound},
		{"HTTP to a proxy, another Host", []byte("GET http://a.test/b HTTP/1.1\r\nHost: b.test\r\n\r\n"), flowName{}, nameNone},
		{"HTTP, a query behind the host", []byte("GET http://a.test?x=1 HTTP/1.0\r\n\r\n"), flowName{"a.test", "/?x=1"}, nameFound},
		{"HTTP, a user before the host", []byte("GET http://a.test:1@b.test/ HTTP/1.0\r\n\r\n"), flowName{"b.test", "/"}, nameFound},
		{"HTTP, CONNECT", []byte("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"), flowName{"a.test", "/"}, nameFound},
		{"HTTP, lines that end in LF", []byte("GET / HTTP/1.1\nHost: a.test\n\n"), flowName{"a.test", "/"}, nameFound},
		{"HTTP, an empty line before", []byte("\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), flowName{"a.test", "/"}, nameFound},
		{"HTTP, an encoded path", []byte("GET /%70aid/%2f%7e%zz?%41 HTTP/1.0\r\nHost: a.test\r\n\r\n"), flowName{"a.test", "/paid/%2F~%zz?A"}, nameFound},
		{"HTTP, a path with dots", []byte("GET /free/../paid/./x/%2e%2E HTTP/1.0\r\nHost: a.test\r\n\r\n"), flowName{"a.test", "/paid/"}, nameFound},
		{"HTTP, 9000 octets before Host", []byte("GET / HTTP/1.1\r\nCookie: " + strings.Repeat("a", 4500) + "\r\nX: " +
			strings.Repeat("b", 4500) + "\r\nHost: a.test\r\n\r\n"), flowName{"a.test", "/"}, nameFound},
		{"HTTP, cut off", []byte("GET / HTTP/1.1\r\nHost: a.te"), flowName{}, nameMore},
		{"HTTP, one octet", []byte("G"), flowName{}, nameMore},
		{"TLS, one octet", []byte{22}, flowName{}, nameMore},
		{"HTTP, cut off behind Host", []byte("GET / HTTP/1.1\r\nHost: a.test\r\n"), flowName{}, nameMore},
		{"HTTP without Host", []byte("GET / HTTP/1.1\r\n\r\n"), flowName{}, nameNone},
		{"HTTP with two", []byte("GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n"), flowName{}, nameNone},
		{"HTTP with a folded one", []byte("GET / HTTP/1.1\r\nHost:\r\n a.test\r\n\r\n"), flowName{}, nameNone},
		{"HTTP with a space behind its name", []byte("GET / HTTP/1.1\r\nHost : a.test\r\n\r\n"), flowName{}, nameNone},
		{"HTTP with a Host that is none", []byte("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), flowName{}, nameNone},
		{"HTTP of two lengths", []byte("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), flowName{}, nameNone},
		{"HTTP/2", []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), flowName{}, nameNone},
	} {
		if got, v := readName(tc.in); got != tc.want || v != tc.v {
			t.Errorf("%s: got %+v, %d, want %+v, %d", tc.name, got, v, tc.want, tc.v)
		}
	}
}

func TestNameMatch(t *testing.T) {
	for _, tc := range []struct {
		name       flowName
		host, path string
		want       bool
	}{
		{flowName{host: "a.b.test"}, "*.b.test", "", true},
		{flowName{host: "b.test"}, "*.b.test", "", false},
		{flowName{host: "ab.test"}, "*.b.test", "", false},
		{flowName{host: "b.test"}, "b.test", "", true},
		{flowName{host: "a.b.test"}, "b.test", "", false},
		{flowName{"b.test", "/hd/1"}, "b.test", "/hd", true},
		{flowName{"b.test", "/sd/1"}, "b.test", "/hd", false},
		{flowName{host: "b.test"}, "b.test", "/hd", false},
		{flowName{"b.test", "/hd"}, "", "/hd", true},
	} {
		if got := tc.name.match(tc.host, tc.path); got != tc.want {
			t.Errorf("%+v, %q %q: got %t", tc.name, tc.host, tc.path, got)
		}
	}
}

// segmentOf is a TCP segment between the UE, 2.0.0.0, and port 443 of 1.0.0.0.
type segmentOf struct {
	port     uint16 // of the UE
	downlink bool
	seq, ack uint32
	flags    byte
	data     string
	ipv6     bool
}

func (s segmentOf) fields() *fields {
	f := &fields{remote: netip.AddrFrom4([4]byte{1}), local: netip.AddrFrom4([4]byte{2}), remotePort: 443, localPort: s.port}
	if s.ipv6 {
		f.remote, f.local = netip.AddrFrom16([16]byte{1}), netip.AddrFrom16([16]byte{2})
	}
	return f
}

// packet is that with right checksums.
func (s segmentOf) packet() user {
	f := s.fields()
	from, to, source, destination := s.port, f.remotePort, f.local, f.remote
	if s.downlink {
		from, to, source, destination = to, from, destination, source
	}
	u := append([]byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, inet.ProtoTCP, 0, 0}, source.AsSlice()...)
	if s.ipv6 {
		u = append([]byte{0x60, 0, 0, 0, 0, 0, inet.ProtoTCP, 64}, source.AsSlice()...)
	}
	u = append(u, destination.AsSlice()...)
	at := len(u)
	u = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(u, from), to)
	u = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(u, s.seq), s.ack)
	u = append(append(u, 5<<4, s.flags, 0xff, 0xff, 0, 0, 0, 0), s.data...)
	binary.BigEndian.PutUint16(u[at+16:], UpperChecksum(u, inet.ProtoTCP, at))
	if s.ipv6 {
		binary.BigEndian.PutUint16(u[4:], uint16(len(u)-at))
		return u
	}
	binary.BigEndian.PutUint16(u[2:], uint16(len(u)))
	binary.BigEndian.PutUint16(u[10:], checksum.Of(u[:at]))
	return u
}

// sees lets a segment of a session be seen.
func (n *Names) sees(seid uint64, s segmentOf, nowNs uint64) (flowName, bool) {
	return n.look(seid, s.fields(), s.packet(), !s.downlink, nowNs)
}

// say lets a segment of session seid from a port be seen.
func (n *Names) say(seid uint64, port uint16, seq uint32, flags byte, data string, nowNs uint64) (flowName, bool) {
	return n.sees(seid, segmentOf{port: port, seq: seq, flags: flags, data: data}, nowNs)
}

// TestNamesBounds: no user can make the table grow, nor another's flows be
// forgotten.
func TestNamesBounds(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	n := NewNames(nil)
	n.say(1, 1, 1, tcpACK, request, 0)
	for port := range uint16(3 * maxNamedSession) {
		n.say(2, port, 1, tcpACK, request, 0)
		n.say(3, port, 1, tcpACK, "GET / HTTP/1.1\r\n", 0) // never complete
	}
	if n.own[2].all.Len() != maxNamedSession || n.all.Len() != len(n.flows) || n.partial.Len() > maxPartial || len(n.flows) > 1+2*maxNamedSession {
		t.Errorf("%d flows, %d in order, %d not complete", len(n.flows), n.all.Len(), n.partial.Len())
	}
	if _, ok := n.say(1, 1, 100, tcpACK, "", 1); !ok {
		t.Error("another session's flow is forgotten")
	}
	if _, ok := n.say(1, 1, 100, tcpACK, "", namedIdle+2); ok {
		t.Error("a flow that was silent for too long is known")
	}
	if _, ok := n.say(2, 3*maxNamedSession-1, 100, tcpRST, "", 0); !ok {
		t.Error("the last packet of a flow has no name")
	}
	if _, ok := n.say(2, 3*maxNamedSession-1, 100, tcpACK, "x", 0); ok {
		t.Error("a flow that was reset is known")
	}
	for seid := range uint64(4) {
		n.Forget(seid)
	}
	if len(n.flows) != 0 || n.all.Len() != 0 || n.partial.Len() != 0 || len(n.own) != 0 {
		t.Errorf("left: %d flows, %d in order, %d not complete, %d sessions", len(n.flows), n.all.Len(), n.partial.Len(), len(n.own))
	}
	for seid := range uint64(2 * MaxNamed / maxNamedSession) {
		for port := range uint16(maxNamedSession) {
			n.say(100+seid, port, 1, tcpACK, request, 0)
		}
	}
	if len(n.flows) != MaxNamed {
		t.Errorf("%d flows, want %d", len(n.flows), MaxNamed)
	}
	n.say(1, 1, 1, tcpACK, "GET / HTTP/1.1\r\n", 0)
	n.say(1, 1, 17, tcpACK, strings.Repeat("a", 2*maxPartialSize), 0)
	if n.partial.Len() != 0 {
		t.Error("a name that is too long is waited for")
	}
}

// TestHalfReadBounds: no user makes what is half read of another's flows be given up,
// and a head costs no more than what decides of it.
func TestHalfReadBounds(t *testing.T) {
	const head, rest = "GET / HTTP/1.1\r\n", "Host: a.test\r\n\r\n"
	n := NewNames(nil)
	completes := func(name string, seid uint64) {
		t.Helper()
		if _, known := n.say(seid, 1, 1+uint32(len(head)), tcpACK, rest, 0); !known {
			t.Errorf("%s: the name of a flow is lost", name)
		}
	}
	n.say(1, 1, 1, tcpACK, head, 0)
	for port := range uint16(3 * maxPartial) {
		n.say(2, port, 1, tcpACK, head, 0)
	}
	if got := n.own[2].partial.Len(); got != maxPartialSession || n.partial.Len() != maxPartialSession+1 {
		t.Errorf("a session has %d flows half read, of %d; want %d", got, n.partial.Len(), maxPartialSession)
	}
	completes("one session has many", 1)
	n.say(1, 1, 1, tcpSYN, "", 2*namedIdle) // a new flow
	n.say(1, 1, 2, tcpACK, head, 2*namedIdle)
	for seid := range uint64(2 * maxPartial / maxPartialSession) {
		for port := range uint16(maxPartialSession) {
			n.say(100+seid, port, 1, tcpACK, head, 2*namedIdle)
		}
	}
	if n.partial.Len() != maxPartial {
		t.Errorf("%d flows half read, want %d", n.partial.Len(), maxPartial)
	}
	if _, known := n.say(1, 1, 2+uint32(len(head)), tcpACK, rest, 2*namedIdle); !known {
		t.Error("many sessions have many: the name of a flow is lost")
	}
	r := &requests{}
	r.read([]byte("GET /" + strings.Repeat("a", 7000) + " HTTP/1.1\r\nHost: a.test\r\nX: " + strings.Repeat("b", 7000)))
	if octets := cap(r.line) + len(r.head.target) + len(r.head.path) + len(r.head.host); octets > maxPath+100 {
		t.Errorf("%d octets are kept of a head", octets)
	}
}

// FuzzReadName: however a stream is cut, what is read of it is the same, and a
// ClientHello that shows its name early shows no other one later.
func FuzzReadName(f *testing.F) {
	whole := hello(f, &tls.Config{ServerName: "host.example.org"})
	f.Add(whole, 100)
	f.Add(records(whole, 50), 3)
	f.Add([]byte("GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n"), 20)
	f.Add([]byte("GET http://a.test/ HTTP/1.0\r\n\r\n"), 5)
	f.Add([]byte("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nGET /GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"), 60)
	f.Add([]byte("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nGET\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n"), 70)
	f.Add([]byte{22, 3, 1, 0, 5, 1, 0, 0, 1, 0}, 7)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		if cut < 1 || cut > len(b) || !showsName(b) {
			return
		}
		if !showsName(b[:cut]) {
			t.Errorf("%q may be the beginning of a name, its first %d octets may not", b, cut)
		}
		all, v := readName(b)
		if v == nameFound && (all.host == "" || len(all.host) > maxHostName || all.host != strings.ToLower(all.host)) {
			t.Errorf("name %+v", all)
		}
		if isHello(b) {
			part, early := readName(b[:cut])
			if early == nameFound && (v != nameFound || part != all) || early == nameNone && v != nameNone {
				t.Errorf("first %d octets: %+v, %d; all: %+v, %d", cut, part, early, all, v)
			}
			return
		}
		one, two := &requests{}, &requests{}
		one.read(b)
		two.read(b[:cut])
		two.read(b[cut:])
		if !reflect.DeepEqual(one, two) {
			t.Errorf("cut at %d: %+v; whole: %+v", cut, two, one)
		}
	})
}
