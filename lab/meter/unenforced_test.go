package meter

import (
	"testing"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// both makes two changes to a frame, of which the first may not move the second's place.
func both(first, second func([]byte) []byte) func([]byte) []byte {
	return func(f []byte) []byte { return second(first(f)) }
}

// TestUnenforced gives meters of UPFs that are known not to enforce something frames that
// are wrong in that, in more, and in something else, with stamps of both kinds.
func TestUnenforced(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-unenforced"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	const right = Kind(255)
	marked, otherQFI := fix4(userN3, put(userN3+1, 46<<2)), put(outerN3+14, 10)
	for _, tc := range []struct {
		name             string
		known            []Kind
		change           func([]byte) []byte
		kind, unenforced Kind
	}{
		{"as it should be", []Kind{NoQFI}, put(0), right, right},
		{"no QFI", []Kind{NoQFI}, noExtension, right, NoQFI},
		{"no QFI, known of another QFI", []Kind{QFI}, noExtension, NoQFI, right},
		{"another QFI", []Kind{NoQFI}, otherQFI, QFI, right},
		{"another QFI, known", []Kind{QFI, NoQFI}, otherQFI, right, QFI},
		{"no QFI, another TEID", []Kind{NoQFI}, both(put(outerN3+4, 0, 2, 0, 0), noExtension), TEID, right},
		{"no QFI, another DSCP", []Kind{NoQFI}, both(marked, noExtension), DSCP, right},
		{"no QFI, another DSCP, both known", []Kind{NoQFI, DSCP}, both(marked, noExtension), right, NoQFI},
		{"another DSCP, known", []Kind{DSCP}, marked, right, DSCP},
		{"another QFI and DSCP, DSCP known", []Kind{DSCP}, both(marked, otherQFI), QFI, right},
	} {
		for stamp, octets := range map[string]int{"": 64, ", short stamp": generator.ShortStampOctets} {
			t.Run(tc.name+stamp, func(t *testing.T) {
				_, port := ends(bed, generator.Downlink)
				m := &Meter{config: Config{Port: port, N3: bed.N3, N6: bed.N6, Direction: generator.Downlink, Run: testRun, Streams: 2, Unenforced: tc.known}}
				if err := m.load(); err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				frame := tc.change(frameFor(t, bed, generator.Downlink, generator.Stamp{Run: testRun, IntendedNs: uint64(monotonic(t))}, sessions(1, false)[0], octets))
				want := Stream{Received: 1, ReceivedOctets: uint64(len(frame))}
				if tc.kind != right {
					want.Misdelivered[tc.kind] = 1
				}
				if tc.unenforced != right {
					want.Unenforced[tc.unenforced] = 1
				}
				m.expect(t, frame, xdpDrop, want)
			})
		}
	}
	bad := Config{Direction: generator.Downlink, Streams: 1, Unenforced: []Kind{TEID}}
	if err := bad.validate(); err == nil {
		t.Error("a TEID that a UPF does not enforce: accepted")
	}
}
