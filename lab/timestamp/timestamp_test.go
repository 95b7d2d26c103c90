package timestamp

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stamping is a control message with three time stamps, in nanoseconds.
func stamping(ns ...int64) []byte {
	b := binary.NativeEndian.AppendUint64(nil, controlHeader+3*timespec)
	b = binary.NativeEndian.AppendUint32(b, unix.SOL_SOCKET)
	b = binary.NativeEndian.AppendUint32(b, unix.SCM_TIMESTAMPING)
	for _, n := range ns {
		b = binary.NativeEndian.AppendUint64(b, uint64(n/1e9))
		b = binary.NativeEndian.AppendUint64(b, uint64(n%1e9))
	}
	return b
}

// TestParse reads control messages in any order, and stops where they are broken.
func TestParse(t *testing.T) {
	mark := appendControl(nil, unix.SOL_SOCKET, unix.SO_MARK, 0x80000007)
	other := appendControl(nil, unix.SOL_PACKET, unix.SO_MARK, 9)
	both := stamping(1_500_000_000, 0, 2_000_000_001)
	long := bytes.Clone(both)
	long[0] += 8
	bad := stamping(-1, 0, 5)
	binary.NativeEndian.PutUint64(bad[controlHeader+2*timespec+8:], 1e9) // nanoseconds of a second
	for _, tc := range []struct {
		name string
		in   []byte
		want message
	}{
		{"nothing", nil, message{}},
		{"stamps", both, message{1_500_000_000, 2_000_000_001, 0}},
		{"mark behind another message", append(bytes.Clone(other), mark...), message{mark: 0x80000007}},
		{"mark, stamps", append(bytes.Clone(mark), both...), message{1_500_000_000, 2_000_000_001, 0x80000007}},
		{"longer than there is", long, message{}},
		{"length of nothing", make([]byte, 64), message{}},
		{"two of three stamps", append(binary.NativeEndian.AppendUint64(nil, controlHeader+2*timespec), both[8:controlHeader+2*timespec]...), message{}},
		{"no time", bad, message{}},
		{"length that comes round", append(bytes.Repeat([]byte{0xff}, 8), both[8:]...), message{}},
	} {
		if got := parse(tc.in); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// FuzzParse wants any octets to be read without a panic, and no stamp that is none.
func FuzzParse(f *testing.F) {
	f.Add(stamping(1, 2, 3))
	f.Add(append(appendControl(nil, unix.SOL_SOCKET, unix.SO_MARK, 1<<31), stamping(1e18, 0, 7)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := parse(b)
		if m.software < 0 || m.hardware < 0 {
			t.Errorf("%x: %+v", b, m)
		}
		if short := parse(b[:len(b)/2]); len(b) < 2*controlHeader && short != (message{}) {
			t.Errorf("%x: %+v of less than a header", b[:len(b)/2], short)
		}
	})
}

// TestMissing says which devices have time stamps, and why others have none.
func TestMissing(t *testing.T) {
	const hardware = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE
	const software = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	good := Capability{Flags: hardware | software, Clock: 2, TxTypes: 1 << unix.HWTSTAMP_TX_ON, RxFilters: 1<<unix.HWTSTAMP_FILTER_NONE | 1<<unix.HWTSTAMP_FILTER_ALL}
	with := func(change func(*Capability)) Capability {
		c := good
		change(&c)
		return c
	}
	for _, tc := range []struct {
		name   string
		source Source
		b      Capability
		want   string
	}{
		{"nothing of nothing", None, Capability{Clock: -1}, ""},
		{"hardware", Hardware, good, ""},
		{"software", Software, Capability{Flags: software, Clock: -1}, ""},
		{"a veth", Hardware, Capability{Flags: software, Clock: -1}, "no hardware time stamps"},
		{"arriving frames alone", Hardware, with(func(c *Capability) { c.Flags &^= unix.SOF_TIMESTAMPING_TX_HARDWARE }), "no hardware time stamps"},
		{"no clock", Hardware, with(func(c *Capability) { c.Clock = -1 }), "no PTP hardware clock"},
		{"sends without", Hardware, with(func(c *Capability) { c.TxTypes = 1 << unix.HWTSTAMP_TX_OFF }), "no frames that it sends"},
		{"PTP alone", Hardware, with(func(c *Capability) { c.RxFilters = 1 << unix.HWTSTAMP_FILTER_PTP_V2_EVENT }), "PTP alone"},
		{"two clocks", Hardware, with(func(c *Capability) { c.Clock = 3 }), "clock 2 and b by 3"},
		{"two clocks, of the kernel's one", Software, with(func(c *Capability) { c.Clock = 3 }), ""},
		{"driver that lets nothing be stamped", Software, with(func(c *Capability) { c.Flags &^= unix.SOF_TIMESTAMPING_TX_SOFTWARE }), "no frame that it sends"},
	} {
		a, b := Device{"a", good}, Device{"b", tc.b}
		got := Missing(tc.source, a, b)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
		if tc.name != "two clocks" && (Missing(tc.source, b, a) == "") != (got == "") {
			t.Errorf("%s: the other way round it is %q", tc.name, Missing(tc.source, b, a))
		}
	}
}

// TestCollector compares stamps of the same frames only.
func TestCollector(t *testing.T) {
	c := NewCollector(Software, 35_000)
	if c.Shift() != 2 {
		t.Fatalf("one frame in 2^%d, want 2^2", c.Shift())
	}
	if got := NewCollector(Hardware, 0).Shift(); got != maxShift {
		t.Errorf("as fast as possible: one frame in 2^%d, want 2^%d", got, maxShift)
	}
	if a, b := c.Mark(3, 4), c.Mark(3, 5); a != 1<<31|3<<23|1 || b != 0 {
		t.Errorf("marks %#x, %#x; want %#x, 0", a, b, uint32(1<<31|3<<23|1))
	}
	if whole, low := c.Mark(1, 7<<32|64), c.Mark(1, 64); whole != low {
		t.Errorf("marks %#x of a sequence number and %#x of its lower half", whole, low)
	}
	for range 4 {
		c.Asked()
	}
	for mark, ns := range map[uint32]int64{c.Mark(0, 0): 100, c.Mark(0, 4): 200, c.Mark(0, 8): 300, c.Mark(0, 12): 400} {
		c.put(c.sent, mark, ns-50)
		c.put(c.sent, mark, ns) // it was offered twice
	}
	for mark, ns := range map[uint32]int64{c.Mark(0, 0): 110, c.Mark(0, 4): 190, c.Mark(0, 8): 330, c.Mark(1, 8): 400} {
		c.put(c.received, mark, ns)
	}
	r := c.Result()
	if r.Asked != 4 || r.Sent != 4 || r.Received != 4 || r.Backward != 1 || r.Delays.TotalCount() != 2 || r.Delays.Min() != 10 || r.Delays.Max() != 30 {
		t.Errorf("got %+v with %d delays, want 4 asked for, 4 sent, 4 received, 1 backward, 10 and 30 ns", r, r.Delays.TotalCount())
	}
}
