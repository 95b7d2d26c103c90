package n4

import (
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestFeatures: what is advertised is what can be done, feature by feature.
func TestFeatures(t *testing.T) {
	always := pfcp.UPFeatureFTUP | pfcp.UPFeaturePDIU | pfcp.UPFeatureBUNDL | pfcp.UPFeatureSSET | pfcp.UPFeatureMPAS
	can := func(c session.Capabilities) Capabilities { return Capabilities{Capabilities: c} }
	for _, tc := range []struct {
		name string
		can  Capabilities
		want pfcp.UPFunctionFeatures // besides those that are always there
	}{
		{"nothing", Capabilities{}, 0},
		{"N9", can(session.Capabilities{TunnelToTunnel: true, IPv6Tunnels: true}), 0},
		{"filters", can(session.Capabilities{Filters: true}), pfcp.UPFeaturePFDM | pfcp.UPFeaturePFDE | pfcp.UPFeatureMTE},
		{"usage", can(session.Capabilities{Usage: true}), pfcp.UPFeatureMNOP | pfcp.UPFeatureVTIME | pfcp.UPFeatureQUOAC | pfcp.UPFeatureEPFAR},
		{"buffering", can(session.Capabilities{Buffering: true}), pfcp.UPFeatureDDND | pfcp.UPFeatureDLBD | pfcp.UPFeatureUDBC},
		{"delivery status", can(session.Capabilities{Buffering: true, DroppedDownlink: true}),
			pfcp.UPFeatureDDND | pfcp.UPFeatureDLBD | pfcp.UPFeatureUDBC | pfcp.UPFeatureDDDS},
		{"End Markers", can(session.Capabilities{EndMarkers: true}), pfcp.UPFeatureEMPU},
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
