package apps

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pingOutput is that of iputils 20221126.
const pingOutput = `PING 10.6.0.2 (10.6.0.2) from 10.64.0.1 : 56(84) bytes of data.
64 bytes from 10.6.0.2: icmp_seq=1 ttl=63 time=17.3 ms
64 bytes from 10.6.0.2: icmp_seq=3 ttl=63 time=6.55 ms
64 bytes from 10.6.0.2: icmp_seq=3 ttl=63 time=6.55 ms (DUP!)

--- 10.6.0.2 ping statistics ---
3 packets transmitted, 2 received, 33.3333% packet loss, time 110ms
rtt min/avg/max/mdev = 6.554/11.944/17.334/5.390 ms
`

func TestParsePing(t *testing.T) {
	const lost = "--- 10.6.0.2 ping statistics ---\n3 packets transmitted, 0 received, 100% packet loss, time 110ms\n"
	for _, tc := range []struct {
		name, in string
		want     Pinged
		fails    bool
	}{
		{"answers", pingOutput, Pinged{
			Sent: 3, Received: 2, Min: 6554 * time.Microsecond, Mean: 11944 * time.Microsecond, Max: 17334 * time.Microsecond,
			RTTs: []time.Duration{17300 * time.Microsecond, 6550 * time.Microsecond},
		}, false},
		{"none", lost, Pinged{Sent: 3}, false},
		{"more than were sent", "1 packets transmitted, 2 received", Pinged{}, true},
		{"no times", "1 packets transmitted, 1 received", Pinged{}, true},
		{"no number", "1 packets transmitted, 1 received\nrtt min/avg/max/mdev = 1..1/1/1/1 ms\n", Pinged{}, true},
		{"killed", "", Pinged{}, true},
	} {
		got, err := parsePing([]byte(tc.in))
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v, want error %v, -want +got:\n%s", tc.name, err, tc.fails, diff)
		}
	}
}

func TestAddPinged(t *testing.T) {
	a := Pinged{Sent: 2, Received: 1, Min: 3, Mean: 3, Max: 3, RTTs: []time.Duration{3}}
	b := Pinged{Sent: 3, Received: 3, Min: 1, Mean: 7, Max: 9, RTTs: []time.Duration{1, 9, 11}}
	want := Pinged{Sent: 5, Received: 4, Min: 1, Mean: 6, Max: 9, RTTs: []time.Duration{3, 1, 9, 11}}
	if diff := cmp.Diff(want, a.Add(b)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, sum := range []Pinged{a.Add(Pinged{Sent: 1}), (Pinged{Sent: 1}).Add(a)} {
		if sum.Sent != 3 || sum.Mean != a.Mean || sum.Min != a.Min {
			t.Errorf("with one that had no answer: %+v", sum)
		}
	}
}

func FuzzParsePing(f *testing.F) {
	f.Add([]byte(pingOutput))
	f.Fuzz(func(t *testing.T, in []byte) {
		if p, err := parsePing(in); err == nil && (p.Received < 0 || p.Received > p.Sent || p.Received == 0 && len(p.RTTs) > 0) {
			t.Errorf("%q: %+v", in, p)
		}
	})
}
