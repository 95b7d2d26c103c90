package upf

import "github.com/plumbline-upf/plumbline/internal/yamltext"

// ConfigError is all that is wrong with a configuration, one line per mistake.
type ConfigError = yamltext.ConfigError

// checks collects the mistakes found.
type checks struct{ yamltext.Checks }

// Short is what an address or prefix alone stands for. See [yamltext.Shortened].
func (p *N4Peer) Short() any { return &p.Address }

// Form says what the values of each type look like. See [yamltext.Described].

func (SNSSAI) Form() string {
	return "an S-NSSAI: SST, or SST-SD with six hex digits, such as 1-0a0b0c"
}

func (BitRate) Form() string { return "a bit rate, such as 600Mbit/s" }

func (Duration) Form() string { return "a duration, such as 30s" }
