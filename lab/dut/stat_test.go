package dut

import (
	"strings"
	"testing"
	"time"
)

func TestParseCPUTime(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     time.Duration
		fails    bool
	}{
		{name: "plain", in: "17 (plumb) S 1 17 17 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0", want: 3 * time.Second},
		{name: "name with parenthesis and spaces", in: "17 (a) b (c) S 1 17 17 0 -1 4194560 100 0 0 0 1 1 0 0", want: 20 * time.Millisecond},
		{name: "cut off", in: "17 (plumb) S 1 17 17 0", fails: true},
		{name: "not a number", in: "17 (plumb) S 1 17 17 0 -1 4194560 100 0 0 0 x 50 0 0", fails: true},
		{name: "empty", in: "", fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseCPUTime(tc.in)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %v, %v; want %v, error %v", got, err, tc.want, tc.fails)
			}
		})
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
