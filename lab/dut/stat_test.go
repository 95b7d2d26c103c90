package dut

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestProcessTime reads the same as getrusage(2), as far as ticks tell.
func TestProcessTime(t *testing.T) {
	var before, after unix.Rusage
	used := func(r *unix.Rusage) time.Duration {
		if err := unix.Getrusage(unix.RUSAGE_SELF, r); err != nil {
			t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for used(&before) < 5*tick { // more than no time at all
	}
	least := used(&before)
	got, err := ProcessTime(os.Getpid())
	most := used(&after)
	if err != nil || got < least-2*tick || got > most+2*tick {
		t.Errorf("got %v, %v; want %v to %v", got, err, least, most)
	}
	if _, err := ProcessTime(1 << 30); !ended(err) {
		t.Errorf("a process that is not there: got %v", err)
	}
}

func TestField(t *testing.T) {
	const info = "pos:\t0\nmap_type:\t2\nmemlock:\t4096\nmap_id:\t 17\nempty:\nVmRSS:\t  123 kB\n"
	for _, tc := range []struct {
		name string
		want uint64
		ok   bool
	}{
		{"memlock:", 4096, true}, {"map_id:", 17, true}, {"VmRSS:", 123, true},
		{"empty:", 0, false}, {"absent:", 0, false}, {"lock:", 0, false},
	} {
		if got, ok := field(info, tc.name); got != tc.want || ok != tc.ok {
			t.Errorf("field(%q): got %d, %v; want %d, %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var l tail
	for range 3 {
		if n, err := l.Write([]byte(strings.Repeat("x", tailOctets/2+1))); n != tailOctets/2+1 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
	}
	if _, err := l.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	if got := l.String(); len(got) != tailOctets || !strings.HasSuffix(got, "xend") {
		t.Errorf("got %d octets that end %q, want %d that end xend", len(got), got[max(0, len(got)-8):], tailOctets)
	}
}
