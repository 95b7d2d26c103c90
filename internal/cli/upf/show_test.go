package upfcmd

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

func TestRate(t *testing.T) {
	for _, tc := range []struct {
		bps  uint64
		want string
	}{
		{0, "0bit/s"},
		{999, "999bit/s"},
		{1000, "1kbit/s"},
		{1500, "1500bit/s"},
		{64_000, "64kbit/s"},
		{100_000_000, "100Mbit/s"},
		{100_000_000_000, "100Gbit/s"},
		{5_000_000_000_000, "5000Gbit/s"},
	} {
		if got := rate(&tc.bps); got != tc.want {
			t.Errorf("rate(%d): got %q, want %q", tc.bps, got, tc.want)
		}
	}
	if got := rate(nil); got != "" {
		t.Errorf("rate(nil): got %q, want nothing", got)
	}
}

// TestShowSession prints a session with something in every column and every note.
func TestShowSession(t *testing.T) {
	dscp, mbr, gbr, teid, vid, ppi := uint8(46), uint64(50_000_000), uint64(64_000), upf.TEID(0x78), uint16(100|3<<13), uint8(5)
	fars := map[int]*uint32{1: new(uint32), 2: new(uint32)}
	*fars[1], *fars[2] = 1, 2
	five, endpointID, peer := uint32(5), uint8(7), netip.MustParseAddr("10.3.0.2")
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	framed := []netip.Prefix{netip.MustParsePrefix("10.60.0.0/16")}
	s := upf.Session{Rules: upf.Rules{
		PDRs: []upf.PDR{
			{ID: 1, Precedence: 32, SourceInterface: "Access", FTEID: &upf.FTEID{TEID: 7, IPv4: netip.MustParseAddr("10.3.0.1")},
				UEAddresses: []string{"10.45.0.7", "2001:db8::/64"}, QFIs: []uint16{1, 9}, NetworkInstance: "internet",
				OuterHeaderRemoval: "GTP-U/UDP/IP", FARID: fars[1], QERIDs: []uint32{1, 2}, URRIDs: []uint32{4},
				TrafficEndpoints: []uint16{7, 8}, FramedRoutes: framed, Predefined: []string{"free"}, ApplicationID: "video",
				Filters: []string{"permit out 17 from any to assigned 53"}, Usage: upf.Usage{Packets: 3, Octets: 300, DroppedPackets: 1}},
			{ID: 2, SourceInterface: "Core", UEAddresses: []string{"10.45.0.7"}, FARID: fars[2]},
			{ID: 3, SourceInterface: "Core", FARID: fars[2], EthernetSession: true, EthernetFilters: []string{"Ethertype 0x0800"}},
		},
		FARs: []upf.FAR{
			{ID: 1, ApplyAction: "FORW+DUPL", DestinationInterface: "Access", NetworkInstance: "ran", DSCP: &dscp,
				OuterHeaderCreation: &upf.OuterHeaderCreation{Description: "GTP-U/UDP/IP", TEID: &teid, IPv4: peer},
				ForwardingPolicy:    "filter", TrafficEndpoint: &endpointID, Proxying: []string{"ARP", "INS"},
				Duplicates: []upf.Duplicate{{DestinationInterface: "LI function", DSCP: &dscp, ForwardingPolicy: "filter",
					OuterHeaderCreation: &upf.OuterHeaderCreation{Description: "UDP/IP", IPv4: peer, Port: 9000}}}},
			{ID: 2, ApplyAction: "BUFF+NOCP+BDPN", BARID: &endpointID, Redirect: &upf.Redirect{URL: "http://portal.example.org/"},
				Replacement: &upf.Replacement{DestinationIPv4: netip.MustParseAddr("10.9.0.1"), DestinationPort: 8080}},
			{ID: 3, ApplyAction: "FORW", DestinationInterface: "Core",
				OuterHeaderCreation: &upf.OuterHeaderCreation{Description: "VLAN tags", CTAG: &vid}},
		},
		QERs: []upf.QER{{ID: 1, QFI: 9, UplinkGateClosed: true, UplinkMBR: &mbr, DownlinkGBR: &gbr,
			UplinkPacketRate: &upf.PacketRate{Packets: 10, TimeMs: 60_000}, DownlinkPacketRate: &upf.PacketRate{Packets: 20, TimeMs: 360_000},
			RQI: true, PagingPolicy: &ppi, Marking: &upf.FlowMarking{TOS: 0xb8, TOSMask: 0xfc, ServiceClass: &ppi}}},
		URRs: []upf.URR{{
			ID: 4, Method: "DURAT+VOLUM", Triggers: "VOLTH", Information: "MBQE+MNOP", VolumeThreshold: &upf.Volume{Total: &mbr, Uplink: &gbr},
			VolumeQuota: &upf.Volume{Downlink: &mbr}, TimeThreshold: 60, TimeQuota: &five, EventThreshold: 3, EventQuota: &five,
			MonitoringTime: &at, SubsequentVolumeThreshold: &upf.Volume{Total: &gbr}, SubsequentTimeQuota: &five,
			Period: 600, QuotaHoldingTime: 30, QuotaValidityTime: 40, InactivityTime: 50, LinkedURRs: []uint32{5, 6}, QuotaFAR: &five,
			DroppedThreshold: &upf.DroppedUsage{Packets: 10}, DroppedDownlink: &upf.DroppedUsage{Packets: 1, Octets: 60},
			UplinkOctets: 300, UplinkPackets: 3, Events: 2, DurationMs: 1500, Exhausted: true, Reports: 2,
			Reported: upf.Reported{UplinkOctets: 200, DurationMs: 1000, Events: 1},
		}},
		BARs: []upf.BAR{{ID: 5, NotificationDelayMs: 100, Packets: 20, DurationMs: 60_000}},
		TrafficEndpoints: []upf.TrafficEndpoint{{ID: 7, FTEID: &upf.FTEID{TEID: 7, IPv6: netip.MustParseAddr("2001:db8::3")},
			UEAddresses: []string{"10.45.0.7"}, QFIs: []uint16{9}, NetworkInstance: "internet", FramedRoutes: framed, EthernetSession: true}},
	}}
	var b strings.Builder
	for _, err := range []error{
		printPDRs(&b, s.Rules.PDRs), printFARs(&b, s.Rules.FARs), printQERs(&b, s.Rules.QERs),
		printURRs(&b, s.Rules.URRs), printBARs(&b, s.Rules.BARs), printEndpoints(&b, s.Rules.TrafficEndpoints),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Join("testdata", "show_session.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestDropsChange: what was dropped in an interval of 2 s, of which one reason
// is not shown because nothing was, and one counts from 0 again.
func TestDropsChange(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before := &upf.Drops{At: at, Drops: []upf.Drop{
		{Reason: "no_pdr", Packets: 10}, {Reason: "mbr", Packets: 5}, {Reason: "gate", Packets: 100}}}
	now := &upf.Drops{At: at.Add(2 * time.Second), Drops: []upf.Drop{
		{Reason: "no_pdr", Packets: 13}, {Reason: "mbr", Packets: 5}, {Reason: "gate", Packets: 4}}}
	for _, tc := range []struct {
		name string
		json bool
		want string
	}{
		{"table", false, `TIME      PACKETS  IN THE INTERVAL  PER SECOND  REASON
12:00:02  13       3                1.5         no_pdr
12:00:02  4        4                2.0         gate
`},
		{"JSON", true, `{"at":"2026-11-21T12:00:02Z","interval_seconds":2,"packets":{"gate":4,"no_pdr":3}}` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			c := Drops{upfFlags: upfFlags{JSON: tc.json}}
			if err := c.printChange(&b, before, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestDropsChangeColumns: 80 columns are enough for what plumb drops --watch prints of all reasons.
func TestDropsChangeColumns(t *testing.T) {
	now := &upf.Drops{At: time.Now()}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			now.Drops = append(now.Drops, upf.Drop{Reason: r.String(), Text: r.Text(), Packets: 999_999_999_999_999})
		}
	}
	var out strings.Builder
	if err := (&Drops{All: true}).printChange(&out, &upf.Drops{At: now.At.Add(-time.Second)}, now); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		t.Error("nothing is printed")
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > term.Columns {
			t.Errorf("%d columns, want at most %d: %s", n, term.Columns, line)
		}
	}
}

// TestMovedJSON: durations are numbers whose unit is in the name.
func TestMovedJSON(t *testing.T) {
	var out strings.Builder
	if err := plainjson.Write(&out, &upf.Moved{Gap: 1500, Took: 2500}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"gap_ns": 1500,`, `"took_ns": 2500,`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s in it", out.String(), want)
		}
	}
}

// TestDatapathLine: of a control plane alone nothing is said that it does not have.
func TestDatapathLine(t *testing.T) {
	if got, want := datapathLine(&upf.Datapath{Name: "redis"}), "datapath redis"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := datapathLine(&upf.Datapath{Name: "xdp", MaxSessions: 5}), "datapath xdp, 5 sessions at most, 0 octets of tables"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
