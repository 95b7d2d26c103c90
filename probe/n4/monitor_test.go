package n4

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
)

// patience is how long a test waits for what has to come: long, since machines are slow.
const patience = 30 * time.Second

// until reads the Monitor until ok says that all is there, or patience is at its end.
func until(t *testing.T, m *Monitor, ok func(*Snapshot) bool) *Snapshot {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		if ok(s) || time.Now().After(end) {
			return s
		}
	}
}

// datagrams is how many all points had.
func (s *Snapshot) datagrams() (n uint64) {
	for _, p := range s.Points {
		n += p.Datagrams + p.Foreign
	}
	return n
}

// exchange sends a request and has it answered.
func exchange(t *testing.T, from, to *net.UDPConn, request, response []byte) {
	t.Helper()
	b := make([]byte, 2048)
	for _, way := range []struct {
		from, to *net.UDPConn
		payload  []byte
	}{{from, to, request}, {to, from, response}} {
		addr := way.to.LocalAddr().(*net.UDPAddr)
		if _, err := way.from.WriteTo(way.payload, addr); err != nil {
			t.Fatal(err)
		}
		_ = way.to.SetReadDeadline(time.Now().Add(patience))
		n, err := way.to.Read(b)
		if err != nil || !bytes.Equal(b[:n], way.payload) {
			t.Fatalf("got %x, %v, want %x", b[:n], err, way.payload)
		}
	}
}

// TestMonitor measures at both ends at once, with both families: what the CP function's
// end measures is longer by the way there and back.
func TestMonitor(t *testing.T) {
	for name, ends := range map[string][2]netip.Addr{"IPv4": {bedCP, bedUP}, "IPv6": {bedCP6, bedUP6}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, "ends")
			learnt := map[probe.Key]string{}
			var ended []Transaction
			m := open(t, Config{
				UPFs:  []UPF{{Name: "there"}, {Name: "here", N4: []netip.Addr{ends[1]}}},
				Learn: func(upf int, k probe.Key, s probe.Slice) error { learnt[k] = s.Name; return nil },
				Done:  func(x Transaction) { ended = append(ended, x) },
			})
			attach(t, m, Point{UPF: 0, Namespace: path(b.cp), Device: "n4"})
			attach(t, m, Point{UPF: 1, Namespace: path(b.up), Device: "n4"})
			cp := listen(t, b.cp, netip.AddrPortFrom(ends[0], 8805))
			up := listen(t, b.up, netip.AddrPortFrom(ends[1], 8805))

			exchange(t, cp, up,
				octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, 1, 0, cpNode, cpSEID, far, pdr(1, access(choose)), ie.NewSNSSAI(1, 7))),
				octets(t, message.NewSessionEstablishmentResponse(0, 0, 77, 1, 0, upNode, accept, ie.NewFSEID(9, net.ParseIP("10.4.0.1"), nil),
					ie.NewCreatedPDR(ie.NewPDRID(1), fteid(5)))))
			exchange(t, up, cp, report(t, 1), reportResponse(t, 1))

			s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == 8 })
			one := Account{Requests: 1, Answered: 1}
			var got []Series
			for _, x := range s.Series {
				got = append(got, Series{UPF: x.UPF, Role: x.Role, Type: x.Type, Account: x.Account})
			}
			want := []Series{
				{UPF: "here", Role: CP, Type: pfcp.MsgSessionEstablishmentRequest, Account: one}, {UPF: "here", Role: UP, Type: pfcp.MsgSessionReportRequest, Account: one},
				{UPF: "there", Role: CP, Type: pfcp.MsgSessionEstablishmentRequest, Account: one}, {UPF: "there", Role: UP, Type: pfcp.MsgSessionReportRequest, Account: one},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("series (-want +got):\n%s", diff)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if diff := cmp.Diff(map[probe.Key]string{{TEID: 5}: "1-000007"}, learnt, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("learnt (-want +got):\n%s", diff)
			}
			var took [2][2]uint64 // by UPF and type
			for _, x := range ended {
				took[x.UPF][x.Type/56] = x.ResponseNs - x.RequestNs
			}
			if there, here := took[0], took[1]; there[0] <= here[0] || there[1] >= here[1] {
				t.Errorf("establishment: %d ns at the CP function, %d at the UP function; report: %d and %d: want the requester's to be longer",
					there[0], here[0], there[1], here[1])
			}
		})
	}
}

// TestLoopback wants each datagram of lo once.
func TestLoopback(t *testing.T) {
	b := newBed(t, "lo")
	m := open(t, Config{UPFs: []UPF{{Name: "a", N4: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}, {Name: "b", N4: []netip.Addr{netip.MustParseAddr("127.0.0.3")}}}})
	for i := range 2 {
		attach(t, m, Point{UPF: i, Namespace: path(b.up), Device: "lo"})
	}
	cp := listen(t, b.up, netip.MustParseAddrPort("127.0.0.2:8805"))
	up := listen(t, b.up, netip.MustParseAddrPort("127.0.0.1:8805"))
	exchange(t, cp, up, heartbeat(t, 1, 1), heartbeatResponse(t, 1))
	s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == 4 })
	want := []PointCount{
		{Point: Point{UPF: 0, Namespace: path(b.up), Device: "lo"}, Datagrams: 2, Octets: 31, Messages: 2},
		{Point: Point{UPF: 1, Namespace: path(b.up), Device: "lo"}, Foreign: 2},
	}
	want[0].Octets = uint64(len(heartbeat(t, 1, 1)) + len(heartbeatResponse(t, 1)))
	if diff := cmp.Diff(want, s.Points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if len(s.Series) != 1 || s.Series[0].Role != CP || s.Series[0].Answered != 1 || s.Series[0].Retransmissions != 0 {
		t.Errorf("got %+v, want 1 heartbeat of the CP function", s.Series)
	}
}

// TestSuperPacket sends datagrams that the device sees as one.
func TestSuperPacket(t *testing.T) {
	b := newBed(t, "gso")
	m := open(t, Config{UPFs: []UPF{{Name: "a"}}})
	attach(t, m, Point{Namespace: path(b.cp), Device: "n4"})
	cp := listen(t, b.cp, netip.AddrPortFrom(bedCP, 8805))
	listen(t, b.up, netip.AddrPortFrom(bedUP, 8805))
	const n = 40
	var all []byte
	for i := range n {
		all = append(all, deletion(t, uint32(i), 5)...)
	}
	size := len(deletion(t, 0, 5))
	raw, err := cp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	if err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size) }); err != nil || set != nil {
		t.Fatal(err, set)
	}
	if _, err := cp.WriteTo(all, net.UDPAddrFromAddrPort(netip.AddrPortFrom(bedUP, 8805))); err != nil {
		t.Fatal(err)
	}
	s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == n })
	if p := s.Points[0]; p.Datagrams != n || p.Messages != n || p.Octets != uint64(n*size) || p.Malformed+p.Bundles+p.Lost != 0 {
		t.Errorf("got %+v, want %d datagrams of %d octets", p, n, size)
	}
	if s.Series[0].Requests != n {
		t.Errorf("got %d requests, want %d", s.Series[0].Requests, n)
	}
}

// TestBigDatagram sends one in fragments, and the largest that there is over lo.
func TestBigDatagram(t *testing.T) {
	b := newBed(t, "big")
	m := open(t, Config{UPFs: []UPF{{Name: "a"}}})
	attach(t, m, Point{Namespace: path(b.cp), Device: "n4"})
	attach(t, m, Point{Namespace: path(b.cp), Device: "lo"})
	cp := listen(t, b.cp, netip.AddrPortFrom(bedCP, 8805))
	big := func(octets int) []byte {
		const head = 16 + 4 // of the message, and of an IE
		return octetsOf(t, &message.SessionDeletionRequest{}, octets-head)
	}
	for _, to := range []struct {
		addr   string
		octets int
	}{{"10.4.0.1:8805", 5000}, {"10.4.0.2:8805", 65507}, {"10.4.0.2:8805", 9000}} {
		if _, err := cp.WriteTo(big(to.octets), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to.addr))); err != nil {
			t.Fatal(err)
		}
	}
	s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == 3 })
	first := s.Points[0]
	if first.Datagrams != 1 || first.Fragments != 1 || first.Messages != 1 || first.Octets != 1472 {
		t.Errorf("in fragments: got %+v, want 1 datagram with the first 1472 octets", first)
	}
	if p := s.Points[1]; p.Datagrams != 2 || p.Messages != 2 || p.Octets != 65507+9000 || p.Malformed != 0 {
		t.Errorf("over lo: got %+v, want 2 whole datagrams", p)
	}
}

// octetsOf is a Session Deletion Request with an unknown IE of so many octets.
func octetsOf(t *testing.T, _ message.Message, content int) []byte {
	t.Helper()
	return octets(t, message.NewSessionDeletionRequest(0, 0, 5, uint32(content), 0, ie.New(0x7000, make([]byte, content))))
}

// TestAttach makes a device anew, and wants its counts to go on.
func TestAttach(t *testing.T) {
	b := newBed(t, "anew")
	m := open(t, Config{})
	upf, err := m.AddUPF(UPF{Name: "late"})
	if err != nil {
		t.Fatal(err)
	}
	p := Point{UPF: upf, Namespace: path(b.up), Device: "n4"}
	var first *Attachment
	for round := range 2 {
		a := attach(t, m, p)
		if _, err := m.Attach(p); err == nil {
			t.Error("attached twice")
		}
		cp := listen(t, b.cp, netip.AddrPortFrom(bedCP, 8805))
		up := listen(t, b.up, netip.AddrPortFrom(bedUP, 8805))
		exchange(t, cp, up, heartbeat(t, uint32(round), 1), heartbeatResponse(t, uint32(round)))
		until(t, m, func(s *Snapshot) bool { return s.datagrams() == uint64(2*round+2) })
		if err := errors.Join(cp.Close(), up.Close()); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			first = a
			in(t, b.up, func() error {
				l, err := netlink.LinkByName("n4")
				if err != nil {
					return err
				}
				return netlink.LinkDel(l)
			})
			b.link(t)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	s, err := m.Read()
	if err != nil || len(s.Points) != 1 || s.Points[0].Datagrams != 4 || s.Series[0].Answered != 2 || s.Series[0].UPF != "late" {
		t.Errorf("got %+v, %v, want 4 datagrams at 1 point", s, err)
	}
}

// TestPointsReplaced comes to more points than there is room for: those that were closed
// make room, others do not.
func TestPointsReplaced(t *testing.T) {
	m := open(t, Config{UPFs: []UPF{{Name: "a"}}})
	first := attach(t, m, Point{Device: "lo"})
	for i := range maxPoints + 5 {
		if n, err := m.number(Point{Device: strconv.Itoa(i)}); n == first.number || err != nil {
			t.Fatalf("point %d: got %d, %v", i, n, err)
		}
	}
	s, err := m.Read()
	if err != nil || len(s.Points) != maxPoints || s.Points[first.number].Device != "lo" {
		t.Errorf("got %d points, %v, want %d with lo", len(s.Points), err, maxPoints)
	}
	closed := slices.Clone(m.attachments)
	for i := range m.attachments {
		m.attachments[i] = first // as if somebody were there
	}
	if _, err := m.number(Point{Device: "more"}); !errors.Is(err, ErrBound) {
		t.Errorf("more than %d points: got %v", maxPoints, err)
	}
	m.attachments = closed
}

// TestAttachMistakes wants errors that say what is wrong.
func TestAttachMistakes(t *testing.T) {
	m := open(t, Config{UPFs: []UPF{{Name: "a"}}})
	for _, p := range []Point{{Device: "none"}, {UPF: 1, Device: "lo"}, {UPF: -1, Device: "lo"}, {Namespace: "/run/netns/none", Device: "lo"}} {
		if _, err := m.Attach(p); err == nil {
			t.Errorf("%+v: attached", p)
		}
	}
	if _, err := m.Attach(Point{Namespace: "/run/netns/none", Device: "lo"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such namespace", err)
	}
	for _, c := range []Config{{Timeout: time.Hour}, {Timeout: -1}, {Sessions: -1}, {UPFs: make([]UPF, maxUPFs+1)}} {
		if m, err := Open(c); err == nil {
			t.Errorf("%+v: opened", c)
			m.Close()
		}
	}
}
