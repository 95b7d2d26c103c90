package probe

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// TestBothWays sends packets of a UE there and back.
func TestBothWays(t *testing.T) {
	r := newRig(t, Config{Slices: []Slice{{Name: "embb"}}})
	if err := r.Learn(0, Key{TEID: 7}, Slice{Name: "embb"}); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(10) {
		up := udp(ueAddr, hostAddr, numbered(i, 100))
		r.pass(n3In, onN3(In, gpdu(7, 9, up)))
		r.pass(n6Out, frame(up))
		down := udp(hostAddr, ueAddr, numbered(i, 100))
		r.pass(n6In, frame(down))
		r.pass(n3Out, onN3(Out, gpdu(8, 9, down)))
	}
	r.pass(n3In, onN3(In, gpdu(7, 9, udp(ueAddr, hostAddr, numbered(10, 100))))) // stays
	s := r.snapshot()
	if diff := cmp.Diff(Account{In: 11, Matched: 10, InFlight: 1, Octets: 1280}, s.account("embb", Uplink)); diff != "" {
		t.Errorf("uplink (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Account{In: 10, Matched: 10, Octets: 1280}, s.account("embb", Downlink)); diff != "" {
		t.Errorf("downlink (-want +got):\n%s", diff)
	}
	for at, packets := range map[Point]uint64{n3In: 11, n6Out: 10, n6In: 10, n3Out: 10} {
		if diff := cmp.Diff(PointCount{Packets: packets}, s.at(at)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", at, diff)
		}
	}
}

// TestAlike sends packets that are alike while the first is in flight: all copies are
// ambiguous, what comes after the last has left is not.
func TestAlike(t *testing.T) {
	r := newRig(t, Config{})
	p := udp(ueAddr, hostAddr, numbered(1, 60))
	in, out := onN3(In, gpdu(7, 9, p)), frame(p)
	for range 3 {
		r.pass(n3In, in)
	}
	for range 3 {
		r.pass(n6Out, out)
	}
	r.pass(n3In, in)
	r.pass(n6Out, out)
	r.pass(n6Out, out) // made by the UPF
	s := r.snapshot()
	if diff := cmp.Diff(Account{In: 4, Ambiguous: 3, Matched: 1, Octets: 88}, s.account("", Uplink)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(PointCount{Packets: 5, AmbiguousOut: 3, Unmatched: 1}, s.at(n6Out)); diff != "" {
		t.Errorf("way out (-want +got):\n%s", diff)
	}
}

// TestLost lets packets stay for longer than the timeout, poisoned ones too. The table
// is looked through in the background or by who comes next, whichever is first.
func TestLost(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for took := timeout; took >= timeout; { // again, if the machine stood still where it must not
		took = lose(t, timeout)
	}
}

// lose returns for how long at most packets were in flight that are not to be lost. The
// account is judged if that is less than the timeout.
func lose(t *testing.T, timeout time.Duration) time.Duration {
	t.Helper()
	r := newRig(t, Config{Timeout: timeout, UPFs: []UPF{{Name: "a", UEs: []netip.Prefix{netip.PrefixFrom(ueAddr, 32)}}}})
	p, q := udp(ueAddr, hostAddr, numbered(1, 60)), udp(ueAddr, hostAddr, numbered(2, 60))
	for _, at := range []Point{n3In, n6Out} {
		r.load(at, hook.Device{}) // which takes its time
	}
	send := func() {
		r.pass(n3In, onN3(In, gpdu(7, 9, p)))
		r.pass(n3In, onN3(In, gpdu(7, 9, q)))
		r.pass(n3In, onN3(In, gpdu(7, 9, q)))
	}
	began := time.Now()
	send()
	took := time.Since(began)
	time.Sleep(2 * timeout)
	r.pass(n6Out, frame(p)) // too late
	r.pass(n6Out, frame(q))
	began = time.Now()
	send() // new ones
	r.pass(n6Out, frame(p))
	took = max(took, time.Since(began))
	time.Sleep(2 * timeout)
	s := r.snapshot()
	if took >= timeout {
		return took
	}
	want := Account{In: 6, Matched: 1, Lost: 1, Ambiguous: 4, Octets: 88}
	if diff := cmp.Diff(want, s.account("", Uplink)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out := s.at(n6Out)
	if out.Packets != 3 || out.Unmatched+out.AmbiguousOut != 2 || s.Held != 0 {
		t.Errorf("got %d packets, %d unmatched, %d ambiguous, held %d", out.Packets, out.Unmatched, out.AmbiguousOut, s.Held)
	}
	return took
}

// TestEvicted has more packets in flight than the table has room for.
func TestEvicted(t *testing.T) {
	r := newRig(t, Config{InFlight: 64, Timeout: time.Minute})
	const packets = 1000
	for i := range uint32(packets) {
		r.pass(n3In, onN3(In, gpdu(7, 9, udp(ueAddr, hostAddr, numbered(i, 60)))))
	}
	a := r.snapshot().account("", Uplink)
	if a.In != packets || a.InFlight > 64 || a.InFlight < 60 || a.Evicted != packets-a.InFlight {
		t.Errorf("got %+v, want %d in, up to 64 in flight, the rest evicted", a, packets)
	}
	matched := uint64(0)
	for i := range uint32(packets) { // the last ones are there
		r.pass(n6Out, frame(udp(ueAddr, hostAddr, numbered(i, 60))))
		if now := r.matched(); now > matched {
			matched = now
			if i < packets/2 {
				t.Errorf("packet %d is still there", i)
			}
		}
	}
	if matched != a.InFlight {
		t.Errorf("got %d that left, want %d", matched, a.InFlight)
	}
}

// TestPointCounts passes what is no user packet of the UPF's: which count moves.
func TestPointCounts(t *testing.T) {
	good := udp(ueAddr, hostAddr, numbered(1, 60))
	edit := func(b []byte, at int, v ...byte) []byte {
		b = slices.Clone(b)
		copy(b[at:], v)
		return b
	}
	tunnelled := onN3(In, gpdu(7, 9, good))
	echo := edit(tunnelled, 14+28+1, 1)
	for _, tc := range []struct {
		name  string
		at    Point
		frame []byte
		want  PointCount
	}{
		{"user packet", n3In, tunnelled, PointCount{Packets: 1}},
		{"without extension headers", n3In, onN3(In, append([]byte{0x30, 255, 0, byte(len(good)), 0, 0, 0, 7}, good...)), PointCount{Packets: 1}},
		{"long extension header", n3In, onN3(In, append([]byte{0x34, 255, 0, byte(len(good) + 12), 0, 0, 0, 7, 0, 0, 0, 0x85, 2, 0, 9, 0, 0, 0, 0, 0}, good...)), PointCount{Packets: 1}},
		{"eight extension headers", n3In, onN3(In, extended(8, good)), PointCount{Packets: 1}},
		{"nine extension headers", n3In, onN3(In, extended(9, good)), PointCount{Unparsed: 1}},
		{"echo", n3In, echo, PointCount{}},
		{"ARP", n3In, edit(tunnelled, 12, 8, 6), PointCount{}},
		{"other port", n3In, edit(tunnelled, 14+22, 0, 53), PointCount{}},
		{"other version", n3In, edit(tunnelled, 14+28, 0x54), PointCount{}},
		{"to others", n3In, edit(tunnelled, 14+16, 192, 0, 2, 9), PointCount{Foreign: 1}},
		{"endless extension headers", n3In, edit(tunnelled, 14+28+12, 0), PointCount{Unparsed: 1}},
		{"ends in the headers", n3In, tunnelled[:14+28+10], PointCount{Unparsed: 1}},
		{"user packet ends", n3In, tunnelled[:len(tunnelled)-1], PointCount{Unparsed: 1}},
		{"no IP inside", n3In, edit(tunnelled, 14+28+16, 0), PointCount{Unparsed: 1}},
		{"later fragment", n3In, edit(tunnelled, 14+6, 0, 9), PointCount{}},
		{"first fragment", n3In, edit(tunnelled, 14+6, 0x20, 0)[:len(tunnelled)-16], PointCount{Packets: 1}},
		{"VLAN", n3In, slices.Concat(tunnelled[:12], []byte{0x81, 0, 0, 5}, tunnelled[12:]), PointCount{Packets: 1}},
		{"two VLANs", n3In, slices.Concat(tunnelled[:12], []byte{0x88, 0xa8, 0, 5, 0x81, 0, 0, 6}, tunnelled[12:]), PointCount{Packets: 1}},
		{"for no UE", n6In, frame(udp(hostAddr, ueAddr, nil)), PointCount{Foreign: 1}},
		{"of no UE", n6Out, frame(good), PointCount{Foreign: 1}},
		{"not known", n3Out, onN3(Out, gpdu(7, 9, good)), PointCount{Packets: 1, Unmatched: 1}},
		{"ARP at N6", n6In, edit(frame(good), 12, 8, 6), PointCount{}},
		{"ends at N6", n6In, frame(good)[:50], PointCount{Unparsed: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.pass(tc.at, tc.frame)
			if diff := cmp.Diff(tc.want, r.snapshot().at(tc.at)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// extended returns a G-PDU with n extension headers of one word.
func extended(n int, packet []byte) []byte {
	headers := slices.Repeat([]byte{1, 0, 0, 0x20}, n)
	headers[len(headers)-1] = 0
	return slices.Concat([]byte{0x34, 255, 0, byte(len(packet) + 4 + len(headers)), 0, 0, 0, 7, 0, 0, 0, 0x20}, headers, packet)
}

// TestOneDevice has N3 and N6 on one device, and a UE that talks to another one: its
// packet comes in by N3 and leaves by N3.
func TestOneDevice(t *testing.T) {
	in, out := Point{Way: In, Hook: Ingress}, Point{Way: Out, Hook: Egress}
	r := newRig(t, Config{})
	up, down := udp(ueAddr, hostAddr, numbered(1, 60)), udp(hostAddr, ueAddr, numbered(1, 60))
	toUE := udp(ueAddr, netip.MustParseAddr("10.45.0.8"), numbered(2, 60))
	r.pass(in, onN3(In, gpdu(7, 9, up)))
	r.pass(out, frame(up))
	r.pass(in, frame(down))
	r.pass(out, onN3(Out, gpdu(8, 9, down)))
	r.pass(in, onN3(In, gpdu(7, 9, toUE)))
	r.pass(out, onN3(Out, gpdu(10, 9, toUE)))
	r.pass(in, frame(udp(hostAddr, netip.MustParseAddr("192.0.2.77"), nil)))
	r.pass(out, frame(udp(upfAddr, hostAddr, nil)))
	s := r.snapshot()
	for d, want := range map[Direction]Account{Uplink: {In: 2, Matched: 2, Octets: 176}, Downlink: {In: 1, Matched: 1, Octets: 88}} {
		if diff := cmp.Diff(want, s.account("", d)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", d, diff)
		}
	}
	for at, want := range map[Point]PointCount{in: {Packets: 3, Foreign: 1}, out: {Packets: 3, Foreign: 1}} {
		if diff := cmp.Diff(want, s.at(at)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", at, diff)
		}
	}
}

// TestTun has the UPF's own TUN device at N6: what is unicast there is for a UE.
func TestTun(t *testing.T) {
	in := Point{Way: In, Side: N6, Hook: Egress}
	r := newRig(t, Config{})
	r.load(in, hook.Device{Bare: true, Tun: true})
	r.pass(in, udp(hostAddr, ueAddr, nil))
	r.pass(in, udp(hostAdr6, ueAddr6, nil))
	r.pass(in, udp(hostAddr, netip.MustParseAddr("224.0.0.1"), nil))
	r.pass(in, udp(hostAdr6, netip.MustParseAddr("ff02::1"), nil))
	if diff := cmp.Diff(PointCount{Packets: 2, Foreign: 2}, r.snapshot().at(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNAT translates a UE's address and port, and sends an answer.
func TestNAT(t *testing.T) {
	r := newRig(t, Config{NAT: true})
	if err := r.Learn(0, Key{TEID: 7}, Slice{Name: "embb"}); err != nil {
		t.Fatal(err)
	}
	public := netip.MustParseAddr("203.0.113.5")
	data := numbered(1, 60)
	r.pass(n6In, frame(udp(hostAddr, public, data))) // for no UE
	r.pass(n3In, onN3(In, gpdu(7, 9, udp(ueAddr, hostAddr, data))))
	translated := serialize(append(ip(public, hostAddr, &layers.UDP{SrcPort: 61000, DstPort: 5000}), gopacket.Payload(data))...)
	r.pass(n6Out, frame(translated))
	answer := func(to netip.Addr, port layers.UDPPort) []byte {
		return serialize(append(ip(hostAddr, to, &layers.UDP{SrcPort: 5000, DstPort: port}), gopacket.Payload(data))...)
	}
	r.pass(n6In, frame(answer(public, 61000)))
	r.pass(n6In, frame(answer(public, 61001))) // for no UE
	r.pass(n3Out, onN3(Out, gpdu(8, 9, answer(ueAddr, 4000))))
	s := r.snapshot()
	for _, d := range []Direction{Uplink, Downlink} {
		if diff := cmp.Diff(Account{In: 1, Matched: 1, Octets: 88}, s.account("embb", d)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", d, diff)
		}
	}
	if diff := cmp.Diff(PointCount{Packets: 1, Foreign: 2}, s.at(n6In)); diff != "" {
		t.Errorf("N6 in (-want +got):\n%s", diff)
	}
}

// TestSamples wants every packet of both directions, whole.
func TestSamples(t *testing.T) {
	r := newRig(t, Config{Sample: Sampling{Every: 1}})
	if err := r.Learn(0, Key{TEID: 7}, Slice{Name: "embb"}); err != nil {
		t.Fatal(err)
	}
	up, down := udp(ueAddr, hostAddr, numbered(1, 60)), udp(hostAddr, ueAddr, numbered(1, 60))
	from := monotonic()
	r.pass(n3In, onN3(In, gpdu(7, 9, up)))
	r.pass(n6Out, frame(up))
	r.pass(n6In, frame(down))
	r.pass(n3Out, onN3(Out, gpdu(8, 5, down)))
	until := monotonic()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []Sample
	if err := r.Samples(ctx, func(s Sample) error { got = append(got, s); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []Sample{
		{UPF: "a", Slice: "embb", Direction: Uplink, Octets: 88, TEID: 7, QFI: 9},
		{UPF: "a", Slice: "embb", Direction: Downlink, Octets: 88, TEID: 8, QFI: 5},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Sample{}, "InNs", "OutNs", "CPU")); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for _, s := range got {
		if s.InNs < from || s.OutNs <= s.InNs || s.OutNs > until {
			t.Errorf("got times %d and %d, want them between %d and %d", s.InNs, s.OutNs, from, until)
		}
	}
}

// TestSamplesEnd has a packet leave whenever a sample is given: the ring is never empty,
// and Samples must return all the same.
func TestSamplesEnd(t *testing.T) {
	r := newRig(t, Config{Sample: Sampling{Every: 1}})
	leave := func(i uint32) {
		up := udp(ueAddr, hostAddr, numbered(i, 60))
		r.pass(n3In, onN3(In, gpdu(7, 9, up)))
		r.pass(n6Out, frame(up))
	}
	leave(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := uint32(0)
	err := r.Samples(ctx, func(Sample) error {
		if got++; got > 100 {
			return errors.New("it goes on")
		}
		leave(got)
		return nil
	})
	if err != nil || got != 1 {
		t.Errorf("got %d samples and error %v, want the one that was there", got, err)
	}
}

// TestTablesOnLines wants that sets, which are a cache line, begin where lines do: the
// values of an array begin behind its header, unless it can be mapped.
func TestTablesOnLines(t *testing.T) {
	spec, err := loadProbe()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"flight_by_print", "found_by_key"} {
		if m := spec.Maps[name]; m.Flags&unix.BPF_F_MMAPABLE == 0 || m.ValueSize != 64 {
			t.Errorf("%s: got flags %#x and values of %d octets, want %#x and 64", name, m.Flags, m.ValueSize, unix.BPF_F_MMAPABLE)
		}
	}
}

// TestMeasureCost wants a time of every point, and its counts left alone. How long is up
// to the machine.
func TestMeasureCost(t *testing.T) {
	r := newRig(t, Config{})
	for _, at := range []Point{n3In, n3Out, n6In, n6Out, {Way: In}, {Way: Out}} {
		r.load(at, hook.Device{})
	}
	if err := r.MeasureCost(); err != nil {
		t.Fatal(err)
	}
	s := r.snapshot()
	for _, p := range s.Points {
		if c := p.Cost.Alone; c <= 0 || c > 100*time.Microsecond || p.Packets != 0 {
			t.Errorf("%v: got %v, %d packets, want a time and none", p.Point, c, p.Packets)
		}
		t.Log(p.Point, p.Cost.Alone)
	}
	if len(s.Points) != 6 || len(s.Series) != 0 {
		t.Errorf("got %d points, %d series, want 6 and none", len(s.Points), len(s.Series))
	}
}

// TestPointsReplaced comes to more points than there is room for: those that were left
// make room, others do not.
func TestPointsReplaced(t *testing.T) {
	r := newRig(t, Config{})
	up := onN3(In, gpdu(7, 9, udp(ueAddr, hostAddr, numbered(1, 60))))
	r.pass(n3In, up)
	for i := range maxPoints {
		if _, err := r.stateOf(Point{Device: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s := r.snapshot()
	if len(s.Points) != maxPoints || s.at(n3In).Packets != 0 {
		t.Errorf("got %d points, %d packets of the one that was left, want %d and none", len(s.Points), s.at(n3In).Packets, maxPoints)
	}
	delete(r.programs, n3In)
	r.pass(n3In, up)
	if got := r.snapshot().at(n3In).Packets; got != 1 {
		t.Errorf("come back: got %d packets, want 1", got)
	}
	for _, x := range r.points {
		x.attached = r.programs[n3In] // as if the probe were there
	}
	if _, err := r.stateOf(Point{Device: "more"}); err == nil {
		t.Errorf("more than %d points: no error", maxPoints)
	}
	for _, x := range r.points {
		x.attached = nil
	}
}
