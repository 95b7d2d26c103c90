package upf

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestViewSession: the JSON of a session that has one of each of the rarer parts.
func TestViewSession(t *testing.T) {
	some8, some16, some32 := session.Some[uint8], session.Some[uint16], session.Some[uint32]
	peer := session.IPv4{10, 3, 0, 2}
	framed := []netip.Prefix{netip.MustParsePrefix("10.60.0.0/16")}
	x := &session.Session{
		SEID: 1, CP: session.FSEID{SEID: 2}, PDNType: session.PDNTypeEth, InactivityTimer: 60, CSIDs: []session.FQCSID{{Node: [16]byte{10, 4, 0, 2}, CSID: 17}}, Reports: make([]session.UsageReport, 2),
		PDRs: []session.PDR{{ID: 1, Unwrap: session.UnwrapSTAG, PDI: session.PDI{
			Endpoint: some8(7), MoreEndpoints: []uint8{8}, Framed: framed, QFIs: 1<<1 | 1<<9, EthernetSession: true,
			Ethernet: []session.EthernetFilter{{Ethertype: 0x800}},
		}}},
		FARs: []session.FAR{{
			ID: 1, ApplyAction: session.Forward | session.Copy, BARID: some8(3), HasForwarding: true,
			Forwarding: session.ForwardingParameters{
				Endpoint: some8(7), ForwardingPolicy: "filter", ProxyARP: true, ProxyND: true,
				Replacement:         &session.Replacement{DestinationIPv4: peer, DestinationPort: 8080, SourceIPv6: session.IPv6{0xfd, 15: 1}},
				Redirect:            &session.Redirect{URL: "http://portal.example.org/", IPv4: peer, IPv6: session.IPv6{0xfd, 15: 1}},
				OuterHeaderCreation: session.OuterHeaderCreation{Encapsulation: session.Tags, CTAG: some16(100), STAG: some16(200)},
			},
			Duplicates: []session.Duplicate{{DestinationInterface: session.LIFunction, DSCP: session.Some(uint8(46)), ForwardingPolicy: "copies",
				OuterHeaderCreation: session.OuterHeaderCreation{Encapsulation: session.UDP, IPv4: peer, Port: 9000}}},
		}},
		QERs: []session.QER{{
			ID: 1, RQI: true, PagingPolicy: some8(0), TOS: 0xb8, TOSMask: 0xfc, ServiceClass: some8(4), HasGBR: true, GBR: session.Rate{Uplink: 1000, Downlink: 2000},
			UplinkPackets: session.PacketRate{Packets: 10, TimeMs: 60_000}, DownlinkPackets: session.PacketRate{Packets: 20, TimeMs: 360_000},
		}},
		URRs: []session.URR{{
			ID: 1, Method: session.MeasureVolume | session.MeasureEvent, Triggers: session.ReportVOLTH, Information: session.InfoMBQE,
			MeasurementPeriod: 1, VolumeQuota: session.Volume{HasTotal: true, Total: 100}, TimeThreshold: 2, TimeQuota: some32(0),
			QuotaHoldingTime: 3, QuotaValidityTime: 4, InactivityDetectionTime: 5, MonitoringTime: 6e9,
			SubsequentVolumeThreshold: session.Volume{HasUplink: true, Uplink: 7}, SubsequentVolumeQuota: session.Volume{HasDownlink: true, Downlink: 8},
			SubsequentTimeThreshold: 9, SubsequentTimeQuota: some32(10), LinkedURRs: []uint32{11}, QuotaFAR: some32(12),
			Events:           session.EventLimits{Threshold: 13, Quota: some32(14), SubsequentThreshold: 15, SubsequentQuota: some32(16)},
			DroppedThreshold: session.DroppedThreshold{Packets: 17, Octets: 18},
			State: session.URRState{SEQN: 19, Exhausted: true, MeteredNs: 20e6, ReportedNs: 21e6, Events: session.EventState{Counted: 22, Reported: 23},
				Reported: session.Counts{UplinkOctets: 24, DownlinkOctets: 25, UplinkPackets: 26, DownlinkPackets: 27}},
		}},
		BARs:      []session.BAR{{ID: 3, NotificationDelay: 50 * time.Millisecond, Packets: 4, Duration: time.Minute}},
		Endpoints: []session.TrafficEndpoint{{ID: 7, FTEID: session.FTEID{TEID: 9, IPv4: peer}, Framed: framed, QFIs: 1 << 9, EthernetSession: true}},
	}
	usage := &api.SessionUsage{Urrs: []*api.URRUsage{{UrrId: 1, UplinkOctets: 28, DroppedDownlinkPackets: 29, DroppedDownlinkOctets: 30}}}
	s := Service{config: &Config{}}
	got, err := json.MarshalIndent(s.viewSession(x, "10.4.0.2", usage), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "session.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
