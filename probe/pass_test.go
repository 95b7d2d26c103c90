package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
