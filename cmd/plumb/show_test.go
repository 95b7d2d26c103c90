package main

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/upf"
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

// TestShowSession prints a session with something in every column.
func TestShowSession(t *testing.T) {
	dscp, mbr, gbr := uint8(46), uint64(50_000_000), uint64(64_000)
	s := upf.Session{Rules: upf.Rules{
		PDRs: []upf.PDR{
			{ID: 1, Precedence: 32, SourceInterface: "Access", FTEID: &upf.FTEID{TEID: 7, IPv4: netip.MustParseAddr("10.3.0.1")},
				UEAddresses: []string{"10.45.0.7", "2001:db8::/64"}, QFIs: []uint8{1, 9}, NetworkInstance: "internet",
				OuterHeaderRemoval: true, FARID: 1, QERIDs: []uint32{1, 2}, URRIDs: []uint32{4},
				Filters: []string{"permit out 17 from any to assigned 53"}, Usage: upf.Usage{Packets: 3, Octets: 300, DroppedPackets: 1}},
			{ID: 2, SourceInterface: "Core", UEAddresses: []string{"10.45.0.7"}, FARID: 2},
		},
		FARs: []upf.FAR{
			{ID: 1, ApplyAction: "FORW", DestinationInterface: "Access", NetworkInstance: "ran", DSCP: &dscp,
				OuterHeaderCreation: &upf.FTEID{TEID: 0x78, IPv4: netip.MustParseAddr("10.3.0.2")}},
			{ID: 2, ApplyAction: "DROP"},
		},
		QERs: []upf.QER{{ID: 1, QFI: 9, UplinkGateClosed: true, UplinkMBR: &mbr, DownlinkGBR: &gbr}},
		URRs: []upf.URR{{
			ID: 4, Method: "VOLUM", Triggers: "VOLTH", VolumeThreshold: &upf.Volume{Total: &mbr, Uplink: &gbr},
			UplinkOctets: 300, UplinkPackets: 3,
		}},
		BARs: []upf.BAR{{ID: 5, NotificationDelayMs: 100, Packets: 20}},
	}}
	var b strings.Builder
	for _, err := range []error{
		printPDRs(&b, s.Rules.PDRs), printFARs(&b, s.Rules.FARs), printQERs(&b, s.Rules.QERs),
		printURRs(&b, s.Rules.URRs), printBARs(&b, s.Rules.BARs),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := `
PDR  PRECEDENCE  FROM    F-TEID               UE ADDRESS               QFI  NETWORK INSTANCE  OHR  FAR  QER  URR  PACKETS  OCTETS  DROPPED
1    32          Access  0x00000007@10.3.0.1  10.45.0.7,2001:db8::/64  1,9  internet          yes  1    1,2  4    3        300     1
2    0           Core    -                    10.45.0.7                -    -                 no   2    -    -    0        0       0
PDR 1: permit out 17 from any to assigned 53

FAR  ACTION  TO      GTP-U TO             NETWORK INSTANCE  DSCP
1    FORW    Access  0x00000078@10.3.0.2  ran               46
2    DROP    -       -                    -                 -

QER  QFI  UL GATE  DL GATE  UL MBR    DL MBR  UL GBR  DL GBR
1    9    closed   open     50Mbit/s  -       -       64kbit/s

URR  METHOD  TRIGGERS  THRESHOLD                     QUOTA  UL OCTETS  DL OCTETS  UL PACKETS  DL PACKETS
4    VOLUM   VOLTH     total 50000000, uplink 64000  -      300        0          3           0

BAR  NOTIFICATION DELAY  PACKETS
5    100ms               20
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
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
			c := dropsCommand{upfFlags: upfFlags{JSON: tc.json}}
			if err := c.printChange(&b, before, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
