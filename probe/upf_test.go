package probe

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// TestUPFPrefixes gives UEs of a UPF other addresses: what is for the old ones is foreign
// then, but what was learnt stays.
func TestUPFPrefixes(t *testing.T) {
	prefixes := func(text ...string) (list []netip.Prefix) {
		for _, p := range text {
			list = append(list, netip.MustParsePrefix(p))
		}
		return list
	}
	r := newRig(t, Config{UPFs: []UPF{{Name: "a"}, {Name: "b", UEs: prefixes("10.45.0.0/16", "10.46.0.0/16", "10.47.0.0/16")}}})
	point := n6In
	point.UPF = 1
	learnt := Key{UE: netip.MustParsePrefix("10.46.0.0/16")}
	if err := r.Learn(1, learnt, Slice{Name: "embb"}); err != nil {
		t.Fatal(err)
	}
	number := uint32(0)
	downlink := func(want map[string]string) { // slice by UE, "foreign" for none
		t.Helper()
		time.Sleep(2 * renewPause)
		for ue, slice := range want {
			number++
			before := r.snapshot()
			r.pass(point, frame(udp(hostAddr, netip.MustParseAddr(ue), numbered(number, 60))))
			after := r.snapshot()
			if foreign := after.at(point).Foreign > before.at(point).Foreign; foreign != (slice == "foreign") {
				t.Errorf("to %s: foreign is %v", ue, foreign)
			}
			if got := after.account(slice, Downlink).In - before.account(slice, Downlink).In; slice != "foreign" && got != 1 {
				t.Errorf("to %s: got %d packets of slice %q, want 1", ue, got, slice)
			}
		}
	}
	downlink(map[string]string{"10.45.0.1": "", "10.46.0.1": "embb", "10.47.0.1": "", "10.48.0.1": "foreign"})
	if err := r.SetUPF(1, UPF{Name: "b", UEs: prefixes("10.47.0.0/16", "10.48.0.0/16")}); err != nil {
		t.Fatal(err)
	}
	downlink(map[string]string{"10.45.0.1": "foreign", "10.46.0.1": "embb", "10.47.0.1": "", "10.48.0.1": ""})
	if err := r.SetUPF(1, UPF{Name: "b", UEs: prefixes("10.46.0.0/16")}); err != nil {
		t.Fatal(err)
	}
	downlink(map[string]string{"10.46.0.1": "embb", "10.47.0.1": "foreign"})
	if err := r.Forget(1, learnt); err != nil {
		t.Fatal(err)
	}
	downlink(map[string]string{"10.46.0.1": "", "10.48.0.1": "foreign"})
}

func TestSetUPFMistakes(t *testing.T) {
	r := newRig(t, Config{})
	for upf, u := range map[int]UPF{-1: {}, 1: {}, 0: {N3: make([]netip.Addr, maxAddresses+1)}} {
		if err := r.SetUPF(upf, u); err == nil {
			t.Errorf("UPF %d, %d addresses: no error", upf, len(u.N3))
		}
	}
	if got := r.upfs[0].N3; len(got) != 1 {
		t.Errorf("after mistakes: got %v, want the address that it had", got)
	}
}

// TestRoom has as many UPFs as there is room for, each with a packet of no slice: it is
// counted as its own.
func TestRoom(t *testing.T) {
	for _, tc := range []struct {
		expected, slices int // slices of the first UPF
		room             int
	}{
		{0, 0, MaxUPFs}, {0, morePairs, fewUPFs}, {MaxUPFs, morePairs, MaxUPFs},
	} {
		t.Run(fmt.Sprintf("%d expected, %d slices", tc.expected, tc.slices), func(t *testing.T) {
			r := newRig(t, Config{Expected: tc.expected})
			for i := range tc.slices {
				if err := r.Learn(0, Key{TEID: 7}, Slice{Name: fmt.Sprint(i)}); err != nil {
					t.Fatal(err)
				}
			}
			for i := 1; i < tc.room; i++ {
				if _, err := r.AddUPF(UPF{Name: fmt.Sprint(i)}); err != nil {
					t.Fatal(err)
				}
				in := n3In
				in.UPF = i
				r.pass(in, onN3(In, gpdu(7, 9, udp(ueAddr, hostAddr, numbered(uint32(i), 60)))))
			}
			if _, err := r.AddUPF(UPF{Name: "more"}); err == nil {
				t.Errorf("more than %d UPFs: no error", tc.room)
			}
			series := r.snapshot().Series
			for _, s := range series {
				if s.UPF == "a" || s.Slice != "" || s.In != 1 {
					t.Errorf("got %d packets of slice %q of UPF %s, want 1 of none", s.In, s.Slice, s.UPF)
				}
			}
			if len(series) != tc.room-1 {
				t.Errorf("got packets of %d UPFs, want %d", len(series), tc.room-1)
			}
		})
	}
}
