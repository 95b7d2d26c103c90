package n4

import (
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestFeatures: what is advertised is what can be done, feature by feature.
func TestFeatures(t *testing.T) {
	always := pfcp.UPFeatureFTUP | pfcp.UPFeaturePDIU | pfcp.UPFeatureBUNDL | pfcp.UPFeatureSSET | pfcp.UPFeatureMPAS
	can := func(c *api.Capabilities) Capabilities { return Capabilities{Capabilities: c} }
	for _, tc := range []struct {
		name string
		can  Capabilities
		want pfcp.UPFunctionFeatures // besides those that are always there
	}{
		{"nothing", Capabilities{}, 0},
		{"N9", can(&api.Capabilities{TunnelToTunnel: true, N3Ipv6: [][]byte{make([]byte, 16)}}), 0},
		{"filters", can(&api.Capabilities{Filters: true}), pfcp.UPFeaturePFDM | pfcp.UPFeaturePFDE | pfcp.UPFeatureMTE},
		{"usage", can(&api.Capabilities{Usage: true}), pfcp.UPFeatureMNOP | pfcp.UPFeatureVTIME | pfcp.UPFeatureQUOAC | pfcp.UPFeatureEPFAR},
		{"buffering", can(&api.Capabilities{Buffering: true}), pfcp.UPFeatureDDND | pfcp.UPFeatureDLBD | pfcp.UPFeatureUDBC},
		{"delivery status", can(&api.Capabilities{Buffering: true, DroppedDownlink: true}),
			pfcp.UPFeatureDDND | pfcp.UPFeatureDLBD | pfcp.UPFeatureUDBC | pfcp.UPFeatureDDDS},
		{"End Markers", can(&api.Capabilities{EndMarker: true}), pfcp.UPFeatureEMPU},
		{"replacement", can(&api.Capabilities{Replacement: true}), pfcp.UPFeatureIPREP},
		{"pools", Capabilities{UEAddresses: true}, pfcp.UPFeatureUEIP},
		{"predefined rules", Capabilities{Predefined: true}, pfcp.UPFeatureADPDP},
	} {
		var c Config
		if got := c.features(tc.can); got != always|tc.want {
			t.Errorf("%s: features %#x, want %#x", tc.name, got, always|tc.want)
		}
		c.Hide = always | tc.want
		if got := c.features(tc.can); got != 0 {
			t.Errorf("%s: features %#x although all are hidden", tc.name, got)
		}
	}
}

// TestToldOften: a CP function that never answers is sent the same a few times, and what
// has changed since anew.
func TestToldOften(t *testing.T) {
	var d told
	var got []bool
	for _, f := range []pfcp.UPFunctionFeatures{1, 1, 1, 1, 1, 2, 2, 2, 2, 1} {
		got = append(got, d.mayTry(f))
	}
	if want := []bool{true, true, true, false, false, true, true, true, false, true}; !slices.Equal(got, want) {
		t.Errorf("told: %v, want %v", got, want)
	}
}
