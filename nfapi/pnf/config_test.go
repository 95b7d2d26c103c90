package pnf

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
)

// TestConfig: what may be said, and what follows.
func TestConfig(t *testing.T) {
	c, err := Config{P5: P5{VNF: "127.0.0.1"}, PHYs: []PHYConfig{{ID: 1}}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if c.P5.VNF != "127.0.0.1:50001" || c.P7.Address.String() != "0.0.0.0:50010" || c.PHYs[0].P7 != c.P7.Address || c.Profile != "oai-2025" {
		t.Errorf("got %+v", c)
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"no vnf":         "phys: [{id: 1}]",
		"no phys":        "p5: {vnf: a}",
		"a phy twice":    "p5: {vnf: a}\nphys: [{id: 1}, {id: 1}]",
		"profile":        "profile: oai\np5: {vnf: a}\nphys: [{id: 1}]",
		"network":        "p5: {vnf: a, network: udp}\nphys: [{id: 1}]",
		"port of UDP":    "p5: {vnf: a, sctp_udp_port: 9900}\nphys: [{id: 1}]",
		"slot ahead":     "p5: {vnf: a}\nphys: [{id: 1, slot_ahead: 256}]",
		"negative ahead": "p5: {vnf: a}\nphys: [{id: 1, slot_ahead: -1}]",
		"local":          "p5: {vnf: a, local: 127.0.0.1}\nphys: [{id: 1}]",
		"port of a name": "p5: {vnf: 'a:p5'}\nphys: [{id: 1}]",
		"port 0":         "p5: {vnf: 'a:0'}\nphys: [{id: 1}]",
		"two ports":      "p5: {vnf: '127.0.0.1:1:2'}\nphys: [{id: 1}]",
		"large port":     "p5: {vnf: a, local: '127.0.0.1:65536'}\nphys: [{id: 1}]",
		"segments":       "p5: {vnf: a}\np7: {segment_size: 65508}\nphys: [{id: 1}]",
		"timeout":        "p5: {vnf: a, timeout: -1s}\nphys: [{id: 1}]",
	} {
		var c Config
		if err := yamltext.Parse("", []byte(text), &c, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := c.Complete(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, ErrConfig)
		}
	}
	if _, err := New(Config{P5: P5{VNF: "a"}, PHYs: []PHYConfig{{}}, NewPHY: func(uint16) (fapi.PHY, error) { return nil, errRefused }}, nil); !errors.Is(err, errRefused) {
		t.Errorf("a phy that cannot be made: %v", err)
	}
}

// TestConfigAll: all that is wrong is said at once, with its keys.
func TestConfigAll(t *testing.T) {
	_, err := Config{
		Profile: "oai", P5: P5{Local: "a", Network: "udp", SCTPUDPPort: 1, Timeout: -1, Reconnect: 1},
		PHYs: []PHYConfig{{ID: 1, SlotAhead: -1}, {ID: 1}},
	}.Complete()
	var wrong *yamltext.ConfigError
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v", err)
	}
	var keys []string
	for _, m := range wrong.Mistakes {
		keys = append(keys, m.Key)
	}
	want := []string{"profile", "p5.vnf", "p5.local", "p5.network", "p5.sctp_udp_port", "p5.timeout", "p5.reconnect", "phys[0].slot_ahead", "phys[1].id"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
