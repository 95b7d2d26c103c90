package slices

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/dut"
)

func TestParseLoad(t *testing.T) {
	for _, tc := range []struct {
		in    string
		want  Load
		fails bool
	}{
		{"light", Load{Name: "light", StreamBPS: 5e6, Calls: 2}, false},
		{"heavy", Load{Name: "heavy", StreamBPS: 50e6, Calls: 8}, false},
		{"50%", Load{Name: "50 %", OfThroughput: 0.5, Calls: 8}, false},
		{"12.5 %", Load{Name: "12.5 %", OfThroughput: 0.125, Calls: 8}, false},
		{"0%", Load{}, true}, {"101%", Load{}, true}, {"-1%", Load{}, true}, {"NaN%", Load{}, true}, {"50", Load{}, true}, {"", Load{}, true}, {"Light", Load{}, true},
	} {
		got, err := ParseLoad(tc.in)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%q: %v, -want +got:\n%s", tc.in, err, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	good := func() Config {
		return Config{Kinds: []dut.Kind{{Name: "a"}}, Loads: named, Duration: time.Second, Timeout: time.Second, Repeats: 1, Uplink: true, ModifyRate: 10}
	}
	for want, spoil := range map[string]func(*Config){
		"":                           func(*Config) {},
		"no UPF":                     func(c *Config) { c.Kinds = nil },
		"no load":                    func(c *Config) { c.Loads = nil },
		"a duration of 1ns":          func(c *Config) { c.Duration = 1 },
		"a warm-up of -1ns":          func(c *Config) { c.WarmUp = -1 },
		"a time-out of 1h0m0s":       func(c *Config) { c.Timeout = time.Hour },
		"0 repeats":                  func(c *Config) { c.Repeats = 0 },
		"1e+06 modifications":        func(c *Config) { c.ModifyRate = 1e6 },
		"one way at least":           func(c *Config) { c.Uplink = false },
		"load light is given twice":  func(c *Config) { c.Loads = append(c.Loads[:3:3], c.Loads[0]) },
		"-0.1 modifications":         func(c *Config) { c.ModifyRate = -0.1 },
		"a time-out of 0s: want 1ms": func(c *Config) { c.Timeout = 0 },
	} {
		c := good()
		spoil(&c)
		err := c.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
