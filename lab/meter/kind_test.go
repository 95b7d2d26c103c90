package meter

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// xdpPass and xdpDrop are actions. Source: Linux include/uapi/linux/bpf.h.
const (
	xdpDrop = 1
	xdpPass = 2
)

// Offsets of the frames that frameFor builds, in octets.
const (
	outerIP = 14
	outerN3 = outerIP + 20 + 8 // GTP-U header downlink
	userN3  = outerN3 + 16     // user packet downlink
)

// loadOnly loads a meter that is attached to nothing.
func loadOnly(t *testing.T, bed *topology.Topology, d generator.Direction, asSent bool) *Meter {
	t.Helper()
	_, port := ends(bed, d)
	m := &Meter{config: Config{Port: port, N3: bed.N3, N6: bed.N6, Direction: d, Run: testRun, Streams: 2, Bed: asSent}}
	if err := m.load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// put returns a change that sets octets at an offset.
func put(offset int, octets ...byte) func([]byte) []byte {
	return func(f []byte) []byte { copy(f[offset:], octets); return f }
}

// fix4 makes the IPv4 header at offset valid after a change.
func fix4(offset int, change func([]byte) []byte) func([]byte) []byte {
	return func(f []byte) []byte {
		f = change(f)
		binary.BigEndian.PutUint16(f[offset+10:], 0)
		sum := uint32(0)
		for i := 0; i < 20; i += 2 {
			sum += uint32(binary.BigEndian.Uint16(f[offset+i:]))
		}
		sum = sum&0xffff + sum>>16
		binary.BigEndian.PutUint16(f[offset+10:], ^uint16(sum&0xffff+sum>>16))
		return f
	}
}

// trailing adds octets that no header announces.
func trailing(f []byte) []byte { return append(f, 0, 0, 0, 0) }

// longExtensions puts a PDU Session Container of two words after another
// extension header, with the lengths to match.
func longExtensions(f []byte) []byte {
	f = slices.Insert(f, outerN3+12, 1, 0, 0, 0x85) // before it: one word, type 0xc0
	f[outerN3+11] = 0xc0
	f = slices.Insert(f, outerN3+19, 0, 0, 0, 0) // inside it
	f[outerN3+16] = 2
	for _, offset := range []int{outerIP + 2, outerIP + 24, outerN3 + 2} {
		binary.BigEndian.PutUint16(f[offset:], binary.BigEndian.Uint16(f[offset:])+8)
	}
	return fix4(outerIP, func(f []byte) []byte { return f })(f)
}

// eightExtensions puts seven extension headers of one word before the PDU Session
// Container, with the lengths to match: together they are as many as a UPF steps over.
func eightExtensions(f []byte) []byte { return moreExtensions(f, 7) }

// nineExtensions are one more than that.
func nineExtensions(f []byte) []byte { return moreExtensions(f, 8) }

func moreExtensions(f []byte, n int) []byte {
	f[outerN3+11] = 0x20
	before := slices.Repeat([]byte{1, 0, 0, 0x20}, n)
	before[len(before)-1] = 0x85
	f = slices.Insert(f, outerN3+12, before...)
	for _, offset := range []int{outerIP + 2, outerIP + 24, outerN3 + 2} {
		binary.BigEndian.PutUint16(f[offset:], binary.BigEndian.Uint16(f[offset:])+uint16(len(before)))
	}
	return fix4(outerIP, func(f []byte) []byte { return f })(f)
}

// noExtension takes all optional fields off the GTP-U header.
func noExtension(f []byte) []byte {
	f[outerN3] = 0x30
	f = slices.Delete(f, outerN3+8, outerN3+16)
	for _, offset := range []int{outerIP + 2, outerIP + 24, outerN3 + 2} {
		binary.BigEndian.PutUint16(f[offset:], binary.BigEndian.Uint16(f[offset:])-8)
	}
	return fix4(outerIP, func(f []byte) []byte { return f })(f)
}

// TestFrames gives the program one frame each: the action, and every count.
func TestFrames(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-frames"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	const up, down, right = generator.Uplink, generator.Downlink, Kind(255)
	meters := map[generator.Direction]*Meter{up: loadOnly(t, bed, up, false), down: loadOnly(t, bed, down, false)}
	same := func(f []byte) []byte { return f }
	for _, tc := range []struct {
		name      string
		direction generator.Direction
		ipv6      bool
		change    func([]byte) []byte
		action    uint32
		kind      Kind
	}{
		{"uplink", up, false, same, xdpDrop, right},
		{"uplink, IPv6", up, true, same, xdpDrop, right},
		{"downlink", down, false, same, xdpDrop, right},
		{"downlink, IPv6", down, true, same, xdpDrop, right},
		{"downlink, longer extension headers", down, false, longExtensions, xdpDrop, right},
		{"downlink, eight extension headers", down, false, eightExtensions, xdpDrop, right},
		{"downlink, other QFI behind seven extension headers", down, false, both(eightExtensions, put(outerN3+14+28, 10)), xdpDrop, QFI},
		{"downlink, nine extension headers", down, false, nineExtensions, xdpPass, right},
		{"TTL of the user packet decremented", down, false, fix4(userN3, put(userN3+8, 3)), xdpDrop, right},

		{"uplink from another UE", up, false, fix4(14, put(14+12, 10, 64, 1, 1)), xdpDrop, UE},
		{"uplink from another UE, IPv6", up, true, put(14+8, 0xfd, 0x65), xdpDrop, UE},
		{"downlink to another UE", down, false, fix4(userN3, put(userN3+16, 10, 64, 1, 1)), xdpDrop, UE},
		{"uplink to another server", up, false, fix4(14, put(14+16, 10, 6, 0, 3)), xdpDrop, Server},
		{"uplink to another server, IPv6", up, true, put(14+24+15, 3), xdpDrop, Server},
		{"downlink from another server", down, false, fix4(userN3, put(userN3+12, 10, 6, 0, 3)), xdpDrop, Server},
		{"payload", up, false, put(14+28+63, 1), xdpDrop, Payload},
		{"payload, IPv6", up, true, put(14+48+63, 1), xdpDrop, Payload},
		{"payload downlink", down, false, put(userN3+28+63, 1), xdpDrop, Payload},
		{"payload and QFI", down, false, both(put(outerN3+14, 10), put(userN3+28+63, 1)), xdpDrop, Payload},
		{"time of the stamp", up, false, put(14+28+17, 9), xdpDrop, Payload},
		{"checksum left to the device", up, false, put(14+20+6, pseudoSum4(10, 64, 0, 0, 10, 6, 0, 2, 72)...), xdpDrop, right},
		{"other TEID", down, false, put(outerN3+4, 0, 2, 0, 0), xdpDrop, TEID},
		{"other QFI", down, false, put(outerN3+14, 10), xdpDrop, QFI},
		{"no PDU Session Container", down, false, noExtension, xdpDrop, NoQFI},
		{"other outer source", down, false, fix4(outerIP, put(outerIP+12, 10, 3, 0, 9)), xdpDrop, OuterAddress},
		{"other outer destination", down, false, fix4(outerIP, put(outerIP+16, 10, 3, 0, 9)), xdpDrop, OuterAddress},
		{"outer checksum", down, false, put(outerIP+10, 0xab, 0xcd), xdpDrop, Checksum},
		{"user packet's checksum", up, false, put(14+10, 0xab, 0xcd), xdpDrop, Checksum},
		{"trailing octets", up, false, trailing, xdpDrop, Length},
		{"trailing octets, IPv6", up, true, trailing, xdpDrop, Length},
		{"GTP-U length", down, false, put(outerN3+2, 0, 1), xdpDrop, Length},
		{"UDP length", up, false, put(14+20+4, 0, 9), xdpDrop, Length},

		{"DSCP", up, false, fix4(14, put(14+1, 46<<2)), xdpDrop, DSCP},
		{"DSCP, IPv6", up, true, put(14, 0x6b, 0x80), xdpDrop, DSCP},
		{"congestion experienced", down, false, fix4(userN3, put(userN3+1, 3)), xdpDrop, right},
		{"outer DSCP", down, false, fix4(outerIP, put(outerIP+1, 46<<2)), xdpDrop, right},

		{"ARP", up, false, put(12, 0x08, 0x06), xdpPass, right},
		{"other port", up, false, put(14+20+2, 0, 53), xdpPass, right},
		{"TCP", up, false, put(14+9, 6), xdpPass, right},
		{"no stamp", up, false, put(14+28, 0), xdpPass, right},
		{"other run", up, false, put(14+28+4, 9), xdpPass, right},
		{"stream that is not metered", up, false, put(14+28+44, 2), xdpPass, right},
		{"Echo Request", down, false, put(outerN3+1, 1), xdpPass, right},
		{"extension header of length 0", down, false, put(outerN3+12, 0), xdpPass, right},
		{"ends in the stamp", up, false, func(f []byte) []byte { return f[:14+28+40] }, xdpPass, right},
		{"ends in the outer header", down, false, func(f []byte) []byte { return f[:outerN3+6] }, xdpPass, right},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := meters[tc.direction]
			if err := m.Reset(); err != nil {
				t.Fatal(err)
			}
			s := sessions(1, tc.ipv6)[0]
			frame := tc.change(frameFor(t, bed, tc.direction, generator.Stamp{Run: testRun}, s, 64))
			var want Stream
			if tc.action == xdpDrop {
				want.Received, want.ReceivedOctets = 1, uint64(len(frame))
			}
			if tc.kind != right {
				want.Misdelivered[tc.kind] = 1
			}
			m.expect(t, frame, tc.action, want)
		})
	}
}

// TestShortFrames is TestFrames with short stamps.
func TestShortFrames(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-short"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	const up, down, right = generator.Uplink, generator.Downlink, Kind(255)
	meters := map[generator.Direction]*Meter{up: loadOnly(t, bed, up, false), down: loadOnly(t, bed, down, false)}
	same := func(f []byte) []byte { return f }
	for _, tc := range []struct {
		name      string
		direction generator.Direction
		ipv6      bool
		change    func([]byte) []byte
		action    uint32
		kind      Kind
	}{
		{"uplink", up, false, same, xdpDrop, right},
		{"uplink, IPv6", up, true, same, xdpDrop, right},
		{"downlink", down, false, same, xdpDrop, right},
		{"downlink, IPv6", down, true, same, xdpDrop, right},
		{"uplink from another UE", up, false, fix4(14, put(14+12, 10, 64, 1, 1)), xdpDrop, UE},
		{"uplink from another UE, IPv6", up, true, put(14+8, 0xfd, 0x65), xdpDrop, UE},
		{"downlink to the next UE", down, false, fix4(userN3, put(userN3+16, 10, 64, 0, 1)), xdpDrop, UE},
		{"next TEID", down, false, put(outerN3+4, 0, 1, 0, 1), xdpDrop, TEID},
		{"other QFI", down, false, put(outerN3+14, 10), xdpDrop, QFI},
		{"DSCP", down, false, fix4(userN3, put(userN3+1, 46<<2)), xdpDrop, DSCP},
		{"UDP length", up, false, put(14+20+4, 0, 9), xdpDrop, Length},
		{"other run", up, false, put(14+28+1, 9), xdpPass, right},
		{"stream that is not metered", up, false, put(14+28, 2), xdpPass, right},
		{"uplink to another server", up, false, fix4(14, put(14+16, 10, 6, 0, 3)), xdpDrop, Server},
		{"last octet of the stamp", up, false, put(14+28+17, 0xaa), xdpDrop, Payload},
		{"lowest octet of the time", up, false, put(14+28+8, 0xaa), xdpDrop, Payload},
		{"ends in the stamp", up, false, func(f []byte) []byte { return f[:14+28+17] }, xdpPass, right},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := meters[tc.direction]
			if err := m.Reset(); err != nil {
				t.Fatal(err)
			}
			stamp := generator.Stamp{Run: testRun, IntendedNs: uint64(monotonic(t))}
			frame := tc.change(frameFor(t, bed, tc.direction, stamp, sessions(1, tc.ipv6)[0], generator.ShortStampOctets))
			var want Stream
			if tc.action == xdpDrop {
				want.Received, want.ReceivedOctets = 1, uint64(len(frame))
			}
			if tc.kind != right {
				want.Misdelivered[tc.kind] = 1
			}
			m.expect(t, frame, tc.action, want)
			s := m.stream(t)
			if s.LeastNs != s.MostNs || want.Received == 1 && (int64(s.LeastNs) < s.FromIntended.Min() || int64(s.MostNs) > s.FromIntended.Max()) {
				t.Errorf("latency of one frame %d to %d ns, in the histogram %d to %d", s.LeastNs, s.MostNs, s.FromIntended.Min(), s.FromIntended.Max())
			}
			if n := s.FromIntended.TotalCount(); n != int64(want.Received) || s.FromIntended.Max() > time.Minute.Nanoseconds() || s.FromSent.TotalCount() != 0 {
				t.Errorf("got %d latencies up to %d ns, %d from when it was sent, want %d and 0", n, s.FromIntended.Max(), s.FromSent.TotalCount(), want.Received)
			}
		})
	}
}

// pseudoSum4 is what stands in the place of a UDP checksum that a device has to complete: the
// sum of the pseudo header of these addresses and this length.
func pseudoSum4(octets ...byte) []byte {
	sum := uint32(17) + uint32(octets[8])
	for i := 0; i < 8; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(octets[i:]))
	}
	return binary.BigEndian.AppendUint16(nil, uint16(sum&0xffff+sum>>16))
}

// TestPayloads changes the last octet of payloads of many lengths, and wants that to be seen,
// and nothing else.
func TestPayloads(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-payloads", MTU: topology.MaxMTU})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	m := loadOnly(t, bed, generator.Downlink, false)
	lengths := []int{511, 512, 513, 1023, 1400, 1401, 1402, 1403, 3200}
	for n := generator.StampOctets; n < generator.StampOctets+140; n++ {
		lengths = append(lengths, n)
	}
	for i, n := range lengths {
		for harmed := range uint64(2) {
			if err := m.Reset(); err != nil {
				t.Fatal(err)
			}
			frame := frameFor(t, bed, generator.Downlink, generator.Stamp{Run: testRun}, sessions(1, i%2 == 1)[0], n)
			frame[len(frame)-1] ^= byte(harmed)
			want := Stream{Received: 1, ReceivedOctets: uint64(len(frame))}
			want.Misdelivered[Payload] = harmed
			m.expect(t, frame, xdpDrop, want)
			if t.Failed() {
				t.Fatalf("payload of %d octets, %d of them changed", n, harmed)
			}
		}
	}
}

// TestEncapsulation gives each meter what only the other kind must accept.
func TestEncapsulation(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-encap"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	s := sessions(1, false)[0]
	for _, tc := range []struct {
		name   string
		meter  generator.Direction
		asSent bool
		frame  generator.Direction
		kind   Kind
	}{
		{"GTP-U left on uplink", generator.Uplink, false, generator.Downlink, Encapsulation},
		{"no GTP-U downlink", generator.Downlink, false, generator.Uplink, Encapsulation},
		{"uplink bed without GTP-U", generator.Uplink, true, generator.Uplink, Encapsulation},
		{"downlink bed with GTP-U", generator.Downlink, true, generator.Downlink, Encapsulation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := loadOnly(t, bed, tc.meter, tc.asSent)
			frame := frameFor(t, bed, tc.frame, generator.Stamp{Run: testRun}, s, 64)
			want := Stream{Received: 1, ReceivedOctets: uint64(len(frame))}
			want.Misdelivered[tc.kind] = 1
			m.expect(t, frame, xdpDrop, want)
		})
	}
}

// expect runs the program on a frame and compares all that it counted.
func (m *Meter) expect(t *testing.T, frame []byte, action uint32, want Stream) {
	t.Helper()
	got, _, err := m.objects.Meter.Test(frame)
	if err != nil || got != action {
		t.Errorf("got action %d, %v, want %d", got, err, action)
	}
	s, err := m.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Stream{want, {}}, s.Streams, ignoreTimes); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := range Kind(Kinds) {
		if name := k.String(); name == "" || seen[name] {
			t.Errorf("kind %d: name %q is empty or another's", k, name)
		}
		seen[k.String()] = true
	}
}
