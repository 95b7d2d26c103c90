package probe

import (
	"time"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// Objects are what the probe loads: as by default, with all that can be asked for, and for
// host-wide points.
func Objects() []verifier.Object {
	plain := Config{InFlight: 65536, Timeout: time.Second}
	all := plain
	all.NAT, all.Timed, all.Parts, all.Sample = true, 2, true, Sampling{Every: 1, Above: time.Millisecond}
	return []verifier.Object{
		{Name: "probe", Load: plain.with(loadProbe), Feature: "plumb probe", Needed: []string{"probe", "sweep"}},
		{Name: "probe-all", Load: all.with(loadProbe)},
		{Name: "probe-host", Load: all.with(loadWide), Feature: "plumb probe: host-wide points", Needed: []string{"host_received", "host_sent"}},
	}
}

// with loads an object with the constants of this configuration.
func (c *Config) with(load func() (*ebpf.CollectionSpec, error)) func() (*ebpf.CollectionSpec, error) {
	return func() (*ebpf.CollectionSpec, error) {
		spec, err := load()
		if err != nil {
			return nil, err
		}
		return spec, (&Probe{cfg: *c}).setConstants(spec)
	}
}
