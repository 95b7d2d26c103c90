package session

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlow(t *testing.T) {
	prefix := netip.MustParsePrefix
	for _, tc := range []struct {
		in   string
		want SDFFilter
	}{
		{"permit out ip from any to assigned", SDFFilter{}},
		{"  permit  out	ip from any to any ", SDFFilter{}},
		{"permit out 17 from any 53 to assigned", SDFFilter{Protocol: Some(uint8(17)), RemotePorts: []PortRange{{53, 53}}}},
		{"permit out udp from any to assigned 1000-2000,7", SDFFilter{Protocol: Some(uint8(17)), LocalPorts: []PortRange{{1000, 2000}, {7, 7}}}},
		{"permit out tcp from 192.0.2.0/24 80,443,8000-8080 to 10.45.0.2/32 1-65535", SDFFilter{
			Protocol: Some(uint8(6)), Remote: prefix("192.0.2.0/24"), Local: prefix("10.45.0.2/32"),
			RemotePorts: []PortRange{{80, 80}, {443, 443}, {8000, 8080}}, LocalPorts: []PortRange{{1, 65535}}}},
		{"permit out 0 from 192.0.2.7 to assigned", SDFFilter{Protocol: Some(uint8(0)), Remote: prefix("192.0.2.7/32")}},
		{"permit out 58 from 2001:db8::/32 to assigned", SDFFilter{Protocol: Some(uint8(58)), Remote: prefix("2001:db8::/32")}},
		{"permit out ip from 192.0.2.129/24 to assigned", SDFFilter{Remote: prefix("192.0.2.0/24")}},
		{"permit out ip from 0.0.0.0/0 to assigned", SDFFilter{Remote: prefix("0.0.0.0/0")}},
	} {
		// What does not come from the text stays, what does is replaced.
		got := SDFFilter{TOS: 8, TOSMask: 0xfc, Protocol: Some(uint8(99)), Remote: prefix("9.9.9.9/32"), RemotePorts: []PortRange{{1, 2}}}
		tc.want.TOS, tc.want.TOSMask = 8, 0xfc
		if err := ParseFlow([]byte(tc.in), &got); err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		if d := cmp.Diff(tc.want, got, equal); d != "" {
			t.Errorf("%q (-want +got):\n%s", tc.in, d)
		}
	}
}

func TestParseFlowRefused(t *testing.T) {
	for _, in := range []string{
		"", "permit", "permit out ip from any", "permit out ip from any to",
		"deny out ip from any to assigned",
		"permit in ip from any to assigned",
		"permit out ip from !192.0.2.1 to assigned",
		"permit out ip from any to assigned frag",
		"permit out 6 from any to assigned tcpflags syn",
		"permit out 6 from any to assigned established",
		"permit out 256 from any to assigned",
		"permit out gre from any to assigned",
		"permit out 17 from any 65536 to assigned",
		"permit out 17 from any 7-6 to assigned",
		"permit out 17 from any 7, to assigned",
		"permit out 17 from any 7 8 to assigned",
		"permit out ip from 192.0.2.0/33 to assigned",
		"permit out ip from 192.0.2 to assigned",
		"permit out ip from fe80::1%eth0 to assigned",
		"permit out ip from ::ffff:192.0.2.1 to assigned",
		"permit out ip from 192.0.2.1 to 2001:db8::1",
		"permit out 17 from any " + strings.Repeat("1,", maxPorts) + "1 to assigned",
	} {
		if err := ParseFlow([]byte(in), new(SDFFilter)); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%q: %v, want %v", in, err, ErrUnsupported)
		}
	}
}

// text writes a filter as a Flow Description.
func (f *SDFFilter) text() string {
	side := func(p netip.Prefix, any string, ports []PortRange) string {
		s := any
		if p.IsValid() {
			s = p.String()
		}
		for i, r := range ports {
			s += fmt.Sprintf("%c%d-%d", " ,"[min(i, 1)], r.First, r.Last)
		}
		return s
	}
	protocol := "ip"
	if f.Protocol.Present {
		protocol = fmt.Sprint(f.Protocol.Value)
	}
	return fmt.Sprintf("permit out %s from %s to %s", protocol,
		side(f.Remote, "any", f.RemotePorts), side(f.Local, "assigned", f.LocalPorts))
}

// FuzzParseFlow: what is accepted means the same when it is written down again.
func FuzzParseFlow(f *testing.F) {
	for _, s := range []string{
		flowMatchAll, "permit out 17 from any 53 to assigned", "permit out tcp from 192.0.2.0/24 80,443,8000-8080 to 10.45.0.2/32 1-65535",
		"permit out 58 from 2001:db8::/32 to assigned", "permit  out ip from 192.0.2.7 to any", "permit out ip from any to assigned frag",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var a, b SDFFilter
		if ParseFlow(in, &a) != nil {
			return
		}
		if err := ParseFlow([]byte(a.text()), &b); err != nil || !a.equal(&b) {
			t.Errorf("%q is %+v, written as %q: %+v, %v", in, a, a.text(), b, err)
		}
		if got, err := fromRecord(1, record(&Session{SEID: 1, PDRs: []PDR{{PDI: PDI{Filters: []SDFFilter{a}}}}})); err != nil ||
			!got.PDRs[0].PDI.Filters[0].equal(&a) {
			t.Errorf("%q: from its record %+v, %v", in, got, err)
		}
	})
}
