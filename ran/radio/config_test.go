package radio_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

func TestDefault(t *testing.T) {
	c := radio.Default()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// TestValidate: each wrong value is refused with an error that names it.
func TestValidate(t *testing.T) {
	for text, want := range map[string]string{
		"{numerology: 4, special_dl: 20}":        "special_dl: special slot of 20 downlink and 4 uplink symbols: want 14 at most",
		"{special_dl: 20, pattern: DDQ}":         "pattern: slot: tdd:",
		"numerology: 4":                          "numerology: 4: want 0 to 3",
		"prbs: 0":                                "prbs: 0",
		"prbs: 276":                              "prbs: 276",
		"layers: 5":                              "layers: 5",
		"mcs: 29":                                "mcs: 29: want 0 to 28",
		"{mcs: 28, mcs_table: 1}":                "mcs: 28: want 0 to 27",
		"mcs_table: 2":                           "mcs_table: 2",
		"rlc: tm":                                `rlc: "tm"`,
		"pattern: DDX":                           "pattern",
		"pattern: DDDDD":                         `pattern: "DDDDD": want downlink and uplink slots`,
		"special_dl: 12":                         "special slot of 12 downlink and 4 uplink",
		"k1: 0":                                  "k1: 0",
		"k2: 33":                                 "k2: 33",
		"sr_period: 7":                           "sr_period: 7",
		"sr_period: 0":                           "sr_period: 0",
		"sr_offset: 10":                          "sr_offset: 10",
		"sr_offset: 3":                           "sr_offset: 3: want an uplink slot",
		"ues: []":                                "ues: 0: want 1 to 32",
		"ues: [{rnti: 0}]":                       "ues[0].rnti: 0",
		"ues: [{rnti: 1}]":                       "ues[0].addresses: 0 IPv4 and 0 IPv6: want one, or one of each",
		"ues: [{rnti: 1, qfi: 64}]":              "qfi: 64",
		"ues: [{rnti: 1, preamble: 64}]":         "preamble: 64",
		"ues: [{rnti: 1, addresses: [0.0.0.0]}]": "0.0.0.0",
		"k2: 18":                                 "k2: 18: want 1 to 17",
		"ues: [{rnti: 1, addresses: [127.0.0.1]}]":                                                            "127.0.0.1",
		"ues: [{rnti: 1, addresses: ['fe80::1']}]":                                                            "fe80::1",
		"ues: [{rnti: 1, addresses: ['::ffff:10.64.0.1']}]":                                                   "::ffff:10.64.0.1",
		"ues: [{rnti: 1, preamble: 1, addresses: [10.0.0.1]}, {rnti: 1, preamble: 2, addresses: [10.0.0.2]}]": "want one that no other has: it is of ues[0]",
		"ues: [{rnti: 1, preamble: 1, addresses: [10.0.0.1]}, {rnti: 2, preamble: 1, addresses: [10.0.0.2]}]": "want one that no other has: it is of ues[0]",
		"ues: [{rnti: 1, preamble: 1, addresses: [10.0.0.1]}, {rnti: 2, preamble: 2, addresses: [10.0.0.1]}]": "10.0.0.1",
	} {
		c := radio.Default()
		if err := yamltext.Parse("", []byte(text), &c, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		err := c.Validate()
		if !errors.Is(err, radio.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestPatterns: what the floors are computed for can be run.
func TestPatterns(t *testing.T) {
	for _, pattern := range []string{"DDDDDDDSUU", "DDDSU", "DDSU", "SU"} {
		c := radio.Default()
		c.Pattern, c.SRPeriod, c.SROffset = pattern, len(pattern), strings.IndexByte(pattern, 'U')
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestManyUEs: as many as there may be, and one more.
func TestManyUEs(t *testing.T) {
	c := radio.Default()
	c.UEs = nil
	for i := range 32 {
		c.UEs = append(c.UEs, radio.UE{RNTI: uint16(1 + i), Preamble: uint8(i), Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})}})
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.UEs = append(c.UEs, radio.UE{RNTI: 99, Preamble: 63, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.1")}})
	if err := c.Validate(); err == nil {
		t.Error("33 UEs are accepted")
	}
}

// TestValidateAll: all that is wrong is said at once, with its keys.
func TestValidateAll(t *testing.T) {
	c := radio.Default()
	c.PRBs, c.Layers, c.MCS, c.RLC, c.Pattern, c.K1, c.K2, c.SROffset = 0, 5, 29, "tm", "DDX", 0, 0, 10
	c.UEs = []radio.UE{{RNTI: 1, Preamble: 64, QFI: 64}, {RNTI: 1, Addresses: []netip.Addr{{}}}}
	var wrong *yamltext.ConfigError
	if err := c.Validate(); !errors.As(err, &wrong) {
		t.Fatalf("got %v", err)
	}
	var keys []string
	for _, m := range wrong.Mistakes {
		keys = append(keys, m.Key)
	}
	want := []string{
		"prbs", "layers", "mcs", "rlc", "k1", "k2", "sr_offset", "pattern", "ues[0].preamble", "ues[0].qfi", "ues[0].addresses", "ues[1].addresses[0]", "ues[1].rnti",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
