package probe

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// TestSlices asks by which key packets find their slice.
func TestSlices(t *testing.T) {
	r := newRig(t, Config{UPFs: []UPF{{Name: "a", UEs: []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")}}}})
	for _, x := range []struct {
		key   Key
		slice string
	}{
		{Key{TEID: 1}, "teid"},
		{Key{UE: netip.MustParsePrefix("10.45.0.0/16")}, "wide"},
		{Key{UE: netip.MustParsePrefix("10.45.1.1/32")}, "narrow"},
		{Key{UE: netip.MustParsePrefix("2001:db8:45::/48")}, "wide"},
		{Key{UE: netip.MustParsePrefix("2001:db8:45:1:2::/80")}, "narrow"}, // counts as /64
		{Key{QFI: 5}, "qfi"},
		{Key{TEID: 9, QFI: 6}, "forgotten"},
	} {
		if err := r.Learn(0, x.key, Slice{Name: x.slice}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Forget(0, Key{TEID: 9, QFI: 6}); err != nil {
		t.Fatal(err)
	}
	number := uint32(0)
	for _, tc := range []struct {
		ue        string
		teid      uint32
		qfi       byte
		slice     string
		back      string // of the answer; "foreign": none
		forwarded bool   // its packet leaves the UPF
	}{
		{"10.45.1.2", 1, 5, "teid", "wide", true}, // prefixes say who it is at N6
		{"10.45.1.2", 2, 5, "wide", "wide", true},
		{"10.45.1.1", 3, 5, "narrow", "narrow", true},
		{"10.46.0.1", 1, 5, "teid", "teid", true}, // learnt
		{"10.46.0.2", 4, 5, "qfi", "qfi", true},
		{"10.46.0.3", 4, 6, "", "", true},
		{"10.46.0.4", 9, 6, "", "foreign", false}, // the UPF does not forward for it
		{"10.99.0.4", 9, 6, "", "", false},        // known to be a UE
		{"10.99.0.5", 1, 6, "teid", "teid", true}, // known, and learnt
		{"2001:db8:45::1", 3, 0, "wide", "wide", true},
		{"2001:db8:45:1::9", 3, 0, "narrow", "narrow", true},
		{"2001:db8:46::9", 1, 0, "teid", "teid", true},
		{"2001:db8:47::9", 3, 0, "", "foreign", false},
	} {
		ue, server := netip.MustParseAddr(tc.ue), hostAddr
		if ue.Is6() {
			server = hostAdr6
		}
		for range 3 { // found, and found again
			number++
			before := r.snapshot()
			up, down := udp(ue, server, numbered(number, 60)), udp(server, ue, numbered(number, 60))
			r.pass(n3In, onN3(In, gpdu(tc.teid, tc.qfi, up)))
			if tc.forwarded {
				r.pass(n6Out, frame(up))
			}
			r.pass(n6In, frame(down))
			after := r.snapshot()
			if after.account(tc.slice, Uplink).In != before.account(tc.slice, Uplink).In+1 {
				t.Errorf("%+v: uplink not of slice %q", tc, tc.slice)
			}
			if tc.back == "foreign" {
				if after.at(n6In).Foreign != before.at(n6In).Foreign+1 {
					t.Errorf("%+v: downlink is not foreign", tc)
				}
			} else if after.account(tc.back, Downlink).In != before.account(tc.back, Downlink).In+1 {
				t.Errorf("%+v: downlink not of slice %q", tc, tc.back)
			}
		}
	}
}

// TestLearnAgain moves a TEID and a UE to another slice: what programs have found does
// not outlast it for long.
func TestLearnAgain(t *testing.T) {
	r := newRig(t, Config{})
	prefix := netip.PrefixFrom(ueAddr, 32)
	for i, slice := range []string{"one", "two"} {
		if err := r.Learn(0, Key{TEID: 7, UE: prefix}, Slice{Name: slice}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * renewPause)
		r.pass(n3In, onN3(In, gpdu(7, 9, udp(ueAddr, hostAddr, numbered(uint32(i), 60)))))
		r.pass(n6In, frame(udp(hostAddr, ueAddr, numbered(uint32(i), 60))))
		s := r.snapshot()
		if up, down := s.account(slice, Uplink).In, s.account(slice, Downlink).In; up != 1 || down != 1 {
			t.Errorf("slice %s: got %d uplink, %d downlink, want 1 each", slice, up, down)
		}
	}
}

// TestSliceByPrefixWithNAT has the UE's own addresses at N6, although they are translated
// farther on.
func TestSliceByPrefixWithNAT(t *testing.T) {
	r := newRig(t, Config{NAT: true})
	if err := r.Learn(0, Key{UE: netip.PrefixFrom(ueAddr, 32)}, Slice{Name: "embb"}); err != nil {
		t.Fatal(err)
	}
	r.pass(n6In, frame(udp(hostAddr, ueAddr, numbered(1, 60))))
	segment := append(ip(hostAddr, ueAddr, &layers.TCP{SrcPort: 80, DstPort: 4000, ACK: true}), gopacket.Payload(numbered(2, 60)))
	r.pass(n6In, frame(serialize(segment...)))
	if got := r.snapshot().account("embb", Downlink).In; got != 2 {
		t.Errorf("got %d packets, want 2", got)
	}
}
