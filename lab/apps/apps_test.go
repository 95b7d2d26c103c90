package apps

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

// forth, back and reverse are what matters of iperf3 3.12's JSON of UDP.
const (
	oneWay = `{"start": {}, "end": {"sum": {"bits_per_second": 5.0e6, "jitter_ms": 0.02, "lost_packets": 3, "packets": 469}}}`
	both   = `{"end": {"sum": {"packets": 9}, "sum_received": {"bits_per_second": 5e6, "jitter_ms": 0.5, "lost_packets": 3, "packets": 469},
		"sum_received_bidir_reverse": {"bits_per_second": 4e6, "jitter_ms": 1.5, "lost_packets": 0, "packets": 468}}}`
)

func TestParseIperf(t *testing.T) {
	up, down := Stream{UplinkBPS: 5e6}, Stream{DownlinkBPS: 5e6}
	for _, tc := range []struct {
		name, in string
		stream   Stream
		want     Streamed
		fails    bool
	}{
		{"uplink", oneWay, up, Streamed{Uplink: Transfer{5e6, 469, 3, 20 * time.Microsecond}}, false},
		{"downlink", oneWay, down, Streamed{Downlink: Transfer{5e6, 469, 3, 20 * time.Microsecond}}, false},
		{"both", both, Stream{UplinkBPS: 5e6, DownlinkBPS: 5e6},
			Streamed{Transfer{5e6, 469, 3, 500 * time.Microsecond}, Transfer{4e6, 468, 0, 1500 * time.Microsecond}}, false},
		{"half of both", oneWay, Stream{UplinkBPS: 5e6, DownlinkBPS: 5e6}, Streamed{}, true},
		{"more lost than sent", `{"end": {"sum": {"lost_packets": 9, "packets": 3}}}`, up, Streamed{Uplink: Transfer{0, 3, 3, 0}}, false},
		{"refused", `{"end": {}, "error": "unable to connect"}`, up, Streamed{}, true},
		{"nothing", `{"end": {"sum": {"packets": 0}}}`, up, Streamed{}, true},
		{"killed", ``, up, Streamed{}, true},
	} {
		got, err := parseIperf([]byte(tc.in), tc.stream)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v, want error %v, -want +got:\n%s", tc.name, err, tc.fails, diff)
		}
	}
}

func FuzzParseIperf(f *testing.F) {
	f.Add([]byte(oneWay))
	f.Add([]byte(both))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := parseIperf(in, Stream{UplinkBPS: 1, DownlinkBPS: 1})
		for _, w := range []Transfer{s.Uplink, s.Downlink} {
			if err == nil && (w.Packets <= 0 || w.Lost < 0 || w.Lost > w.Packets) {
				t.Errorf("%q: %+v", in, w)
			}
		}
	})
}

func TestParseCalls(t *testing.T) {
	const names = "StartTime;TotalCallCreated;ResponseTime1(P);ResponseTime1(C);SuccessfulCall(P);SuccessfulCall(C);FailedCall(C);\n"
	for _, tc := range []struct {
		name, in string
		want     Called
		fails    bool
	}{
		{"two rows", names + "x;1;00:00:00:000100;00:00:00:000200;1;1;0;\ny;12;00:00:00:000100;00:00:01:000250;1;11;1;\n",
			Called{Made: 12, Successful: 11, Failed: 1, Answer: time.Second + 250*time.Microsecond}, false},
		{"no row", names, Called{}, true},
		{"a short row", names + "x;1;", Called{Made: 1}, true},
		{"no number", names + "x;a;00:00:00:000100;00:00:00:000200;1;1;0;", Called{Successful: 1, Answer: 200 * time.Microsecond}, true},
		{"no time", names + "x;1;00:00:00:000100;00:61:00:000200;1;1;0;", Called{Made: 1, Successful: 1}, true},
		{"empty", "", Called{}, true},
	} {
		got, err := ParseCalls(tc.in)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v, want error %v, -want +got:\n%s", tc.name, err, tc.fails, diff)
		}
	}
}

func FuzzParseCalls(f *testing.F) {
	f.Add("TotalCallCreated;ResponseTime1(C);SuccessfulCall(C);FailedCall(C);\n1;00:00:00:000200;1;0;")
	f.Fuzz(func(t *testing.T, in string) {
		if c, err := ParseCalls(in); err == nil && (c.Made < 0 || c.Successful < 0 || c.Failed < 0 || c.Answer < 0) {
			t.Errorf("%q: %+v", in, c)
		}
	})
}

func TestParseEcho(t *testing.T) {
	screen := []byte("  12 Total echo RTP pckts 1st stream\n...\n  345 Total echo RTP pckts 1st stream   9.000 last period\n")
	if got := ParseEcho(screen); got != 345 {
		t.Errorf("got %d, want 345", got)
	}
	for _, without := range []string{"", "Resolving remote host", "99999999999999999999 Total echo RTP pckts 1st stream"} {
		if got := ParseEcho([]byte(without)); got != -1 {
			t.Errorf("%q: got %d, want -1", without, got)
		}
	}
}

func TestCallRate(t *testing.T) {
	for in, want := range map[float64][2]int{2: {2, 1000}, 8: {8, 1000}, 0.5: {50, 100_000}, 2.25: {225, 100_000}} {
		if rate, period := callRate(in); rate != want[0] || period != want[1] {
			t.Errorf("%g per second: got %d in %d ms, want %v", in, rate, period, want)
		}
	}
}

func TestParseCurl(t *testing.T) {
	for _, tc := range []struct {
		in     string
		octets uint64
		took   time.Duration
		fails  bool
	}{
		{"10000000 0.125000", 10_000_000, 125 * time.Millisecond, false},
		{"10 1,5\n", 10, 1500 * time.Millisecond, false},
		{"10", 0, 0, true}, {"", 0, 0, true}, {"-1 1", 0, 0, true}, {"1 -1", 0, 0, true}, {"1 NaN", 0, 0, true}, {"1 1e300", 0, 0, true},
	} {
		octets, took, err := parseCurl(tc.in)
		if octets != tc.octets || took != tc.took || (err != nil) != tc.fails {
			t.Errorf("%q: got %d, %v, %v", tc.in, octets, took, err)
		}
	}
}

func TestHasPort(t *testing.T) {
	table := procfs.NetIPSocket{{LocalPort: 80, St: 10}, {LocalPort: 5201, RemPort: 0x9999, St: 1}}
	for _, tc := range []struct {
		tcp  bool
		port uint16
		want bool
	}{{true, 80, true}, {true, 5201, false}, {false, 5201, true}, {true, 0, false}, {true, 0x9999, false}} {
		if got := hasPort(table, tc.tcp, tc.port); got != tc.want {
			t.Errorf("TCP %v, port %d: got %v, want %v", tc.tcp, tc.port, got, tc.want)
		}
	}
}

// TestNeeds: what is missing is said with its package, and is not supported.
func TestNeeds(t *testing.T) {
	if _, err := look("sipp"); err != nil {
		t.Skip("sipp (Debian: sip-tester) is not installed")
	}
	had := programs
	t.Cleanup(func() { programs = had })
	programs = []program{{"no-such-program", "its-package"}, {"sh", "dash"}}
	err := Needs()
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("got %v, want it not supported", err)
	}
	const want = "unsupported operation: no-such-program not installed: apt-get install its-package (or scripts/setup lab)"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// TestTail keeps no more than it should.
func TestTail(t *testing.T) {
	var b tail
	block := make([]byte, keptOutput/3)
	for i := range 10 {
		block[0] = byte(i)
		if n, err := b.Write(block); n != len(block) || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
	}
	kept := b.Bytes()
	if len(kept) != keptOutput || kept[len(kept)-len(block)] != 9 {
		t.Errorf("got %d octets, want the last %d", len(kept), keptOutput)
	}
}
