package xdp

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TestOutlet: the programs send into tunnels by devices that ports have, with the tag of
// the endpoint there, or the one that all ports there have.
func TestOutlet(t *testing.T) {
	at := func(index int, vid uint16) port {
		return port{Endpoint: datapath.Endpoint{VLAN: vid}, device: device{index: index}}
	}
	d := &Driver{ports: &ports{
		gtpu: []port{at(3, 103), at(3, 109), at(4, 0), at(5, 7)},
		n6:   []port{at(6, 106), at(5, 7), at(7, 0)},
	}}
	d.cfg.N6.Networks = []datapath.DataNetwork{{Name: "n6"}, {Name: "corp"}, {Name: "lan", Ethernet: true}}
	for _, tc := range []struct {
		name             string
		endpoint, device int
		vid              uint16
		ok               bool
	}{
		{"its own", 1, 3, 109, true},
		{"its own, without a tag", 2, 4, 0, true},
		{"another endpoint's", 0, 4, 0, true},
		{"N6", 2, 6, 106, true},
		{"an endpoint's and N6 with one tag", 0, 5, 7, true},
		{"of several tags", 2, 3, 0, false},
		{"an Ethernet data network's", 0, 7, 0, false},
		{"no port's", 0, 8, 0, false},
		{"none", 0, 0, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if vid, ok := d.outlet(tc.endpoint, tc.device); ok != tc.ok || ok && vid != tc.vid {
				t.Errorf("got tag %d, %v; want %d, %v", vid, ok, tc.vid, tc.ok)
			}
		})
	}
}
