package pfcpsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// samples has a content of each IE that a rule may have, by which the tables of
// docs/pfcp.md are held against what the UP function does.
var samples = map[pfcp.IEType]any{
	pfcp.IEEventThreshold: 1, pfcp.IEEventQuota: 1, pfcp.IESubsequentEventThreshold: 1, pfcp.IESubsequentEventQuota: 1,
	pfcp.IEDroppedDLTrafficThreshold: yaml.MapSlice{{Key: "packets", Value: 1}},
	pfcp.IEAdditionalMonitoringTime:  yaml.MapSlice{{Key: "Monitoring Time", Value: "1h"}},
	pfcp.IENumberOfReports:           3, pfcp.IEUserPlaneInactivityTimer: 60,
	pfcp.IEActivationTime: "1h", pfcp.IEDeactivationTime: "2h",
	pfcp.IEQERCorrelationID: 1, pfcp.IERQI: true, pfcp.IEEthernetPDUSessionInformation: 0, pfcp.IEPDNType: 1, pfcp.IEDLBufferingDuration: "60s",
	pfcp.IEPacketRate:          yaml.MapSlice{{Key: "uplink", Value: yaml.MapSlice{{Key: "packets", Value: 9}}}},
	pfcp.IEDLFlowLevelMarking:  yaml.MapSlice{{Key: "service_class_indicator", Value: 1}},
	pfcp.IERedirectInformation: yaml.MapSlice{{Key: "type", Value: 2}, {Key: "server", Value: "http://a/"}},
	pfcp.IEForwardingPolicy:    "hex: 0161", pfcp.IEHeaderEnrichment: yaml.MapSlice{{Key: "name", Value: "X"}},
	pfcp.IEIPAddressAndPortReplacement: "hex: 040050",
	pfcp.IEProxying:                    "ARP", pfcp.IEDuplicatingParameters: yaml.MapSlice{{Key: "Destination Interface", Value: "Core"}},
	pfcp.IEFramedRoute: "10.60.0.0/16 0.0.0.0 1", pfcp.IEFramedRouting: 0, pfcp.IEFramedIPv6Route: "2001:db8::/48 :: 1",

	// What is done.
	pfcp.IEMeasurementPeriod: 60, pfcp.IEVolumeThreshold: 1000, pfcp.IEVolumeQuota: 2000, pfcp.IETimeThreshold: 60, pfcp.IETimeQuota: 120,
	pfcp.IEQuotaHoldingTime: 60, pfcp.IEQuotaValidityTime: 600, pfcp.IEMonitoringTime: "1h",
	pfcp.IESubsequentVolumeThreshold: 500, pfcp.IESubsequentTimeThreshold: 30, pfcp.IESubsequentVolumeQuota: 900, pfcp.IESubsequentTimeQuota: 90,
	pfcp.IEInactivityDetectionTime: 10, pfcp.IELinkedURRID: 2, pfcp.IEMeasurementInformation: "MNOP", pfcp.IEFARID: 1,
	pfcp.IEMBR: yaml.MapSlice{{Key: "uplink_kbps", Value: 1}, {Key: "downlink_kbps", Value: 1}},
	pfcp.IEGBR: yaml.MapSlice{{Key: "uplink_kbps", Value: 1}, {Key: "downlink_kbps", Value: 1}},
	pfcp.IEQFI: 9, pfcp.IEPagingPolicyIndicator: 1, pfcp.IEAveragingWindow: 2000,
	pfcp.IEDownlinkDataNotificationDelay: 1, pfcp.IEDLBufferingSuggestedPacketCount: 4, pfcp.IESuggestedBufferingPacketsCount: 4,
	pfcp.IENetworkInstance: "internet", pfcp.IETransportLevelMarking: yaml.MapSlice{{Key: "value", Value: 184}, {Key: "mask", Value: 252}},
	pfcp.IE3GPPInterfaceType: "N6", pfcp.IESDFFilter: "permit out ip from any to assigned", pfcp.IEURRID: 1, pfcp.IEQERID: 1, pfcp.IEBARID: 1,
	pfcp.IEOuterHeaderCreation: yaml.MapSlice{{Key: "teid", Value: 1}, {Key: "ipv4", Value: "10.3.0.2"}},
}

// groups are where the test puts each IE into an otherwise good request.
var groups = map[string][]string{
	"Create PDR": {"Create PDR"}, "PDI": {"Create PDR", "PDI"}, "Create FAR": {"Create FAR"},
	"Forwarding Parameters": {"Create FAR", "Forwarding Parameters"}, "Create URR": {"Create URR"}, "Create QER": {"Create QER"},
	"Create BAR": {"Create BAR"}, "Create Traffic Endpoint": {"Create Traffic Endpoint"}, "Session Establishment Request": {},
}

const goodRequest = `
Create PDR: {PDR ID: 1, Precedence: 1, PDI: {Source Interface: Core, UE IP Address: {destination: true, ipv4: 10.45.7.7}}, FAR ID: 1}
Create FAR: {FAR ID: 1, Apply Action: FORW, Forwarding Parameters: {Destination Interface: Access, Outer Header Creation: {teid: 1, ipv4: 10.3.0.2}}}
Create URR: [{URR ID: 1, Measurement Method: VOLUM EVENT, Reporting Triggers: VOLTH START, Volume Threshold: 100000}, {URR ID: 2, Measurement Method: VOLUM, Reporting Triggers: LIUSA}]
Create QER: {QER ID: 1, Gate Status: {}}
Create BAR: {BAR ID: 1}
Create Traffic Endpoint: {Traffic Endpoint ID: 1}
`

// willing is a datapath that says it can do all, and takes what it is given: what is
// refused is not refused by it.
type willing struct{ *stages.UPF }

func (willing) Capabilities() *api.Capabilities {
	return &api.Capabilities{
		Name: "willing", N3Ipv4: []uint32{1}, N3Ipv6: [][]byte{make([]byte, 16)}, TunnelToTunnel: true, Filters: true, Usage: true,
		Buffering: true, EndMarker: true, FramedRoutes: true, Hosts: true, Marking: true, PacketRate: true, Gbr: true, Duplicate: true,
		Redirect: true, Ethernet: true, Unstructured: true, Encapsulations: true, DroppedDownlink: true, BeforeEnforcement: true, ContainerDeletion: true, Replacement: true,
		ForwardingPolicies: []string{"a"},
	}
}

func (willing) Apply(context.Context, *api.Change) error { return nil }
func (willing) Usage(uint64) (*api.SessionUsage, error)  { return new(api.SessionUsage), nil }

// TestSupported holds what docs/pfcp.md says against the UP function: each IE
// that is said to be refused is, with its Cause, and each that is said to be done
// is accepted.
func TestSupported(t *testing.T) {
	b := newBedOver(t, func(upf *stages.UPF) datapath.Driver { return willing{upf} })
	if r := b.Do(t.Context(), Step{Verb: "associate"}); r.Err != nil {
		t.Fatal(r.Err)
	}
	counts := map[pfcp.Fate]int{}
	for _, s := range pfcp.Supported() {
		path, ok := groups[s.In]
		if !ok {
			continue
		}
		value, ok := samples[s.IE]
		switch {
		case s.Fate == pfcp.Refused && !ok:
			value = "hex: 0102030405060708" // it is enough that it is there
		case !ok || s.Fate == pfcp.NotApplicable:
			continue
		case s.In == "PDI" && s.IE == pfcp.IEQFI, // means nothing without a tunnel; the dialects have it
			s.IE == pfcp.IEProxying: // nor outside Ethernet PDU sessions
			continue
		}
		var request yaml.MapSlice
		if err := yaml.UnmarshalWithOptions([]byte(goodRequest), &request, yaml.UseOrderedMap()); err != nil {
			t.Fatal(err)
		}
		put(request, path, s.IE, value)
		if len(path) == 0 {
			request = append(request, yaml.MapItem{Key: fmt.Sprintf("IE %d", s.IE), Value: value})
		}
		step := Step{Verb: "establish", With: request, Expect: yaml.MapSlice{{Key: "Cause", Value: s.Cause.String()}}}
		if s.Fate == pfcp.Done {
			step.Expect = nil
		}
		if r := b.Do(t.Context(), step); r.Err != nil {
			t.Errorf("%s in %s, which is said to be %s: %v", s.IE, s.In, s.Fate, r.Err)
			continue
		}
		counts[s.Fate]++
		if s.Fate == pfcp.Done {
			if r := b.Do(t.Context(), Step{Verb: "delete"}); r.Err != nil {
				t.Error(r.Err)
			}
		}
	}
	if counts[pfcp.Refused] < 50 || counts[pfcp.Done] < 30 {
		t.Errorf("only %v tried, of %v", counts, slices.Sorted(maps.Keys(groups)))
	}
}

// put sets an IE in the first group at path.
func put(ies yaml.MapSlice, path []string, ie pfcp.IEType, value any) {
	if len(path) == 0 {
		return
	}
	for i := range ies {
		if ies[i].Key != path[0] {
			continue
		}
		one := &ies[i].Value
		if list, ok := ies[i].Value.([]any); ok {
			one = &list[0]
		}
		inner := (*one).(yaml.MapSlice)
		if len(path) > 1 {
			put(inner, path[1:], ie, value)
			return
		}
		for j := range inner {
			if types := typesOf(fmt.Sprint(inner[j].Key)); len(types) > 0 && types[0] == ie {
				inner[j].Value = value
				return
			}
		}
		*one = append(inner, yaml.MapItem{Key: fmt.Sprintf("IE %d", ie), Value: value})
	}
}
