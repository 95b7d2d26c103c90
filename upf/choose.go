package upf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/doctor"
)

// Devices returns the names of the network devices of the UPF, each once.
func (c *Config) Devices() []string {
	names := []string{c.N3.Device, c.N6.Device}
	for i := range c.GTPU {
		names = append(names, c.GTPU[i].Device)
	}
	for i := range c.DataNetworks {
		names = append(names, c.DataNetworks[i].Device)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// openChosen opens the datapath that is configured, or the best one that can be
// opened, and returns why it is that one.
func openChosen(o opening) (datapath.Driver, string, error) {
	if o.Datapath != DatapathAuto {
		d, err := openDatapath(o)
		return d, "configured", err
	}
	// Programs of an earlier process, or of a datapath of this one, stand aside.
	ours := o.paused || o.pinned()
	why, errs := "auto", []error{}
	for _, can := range doctor.Datapaths(o.Devices(), ours) {
		text := fmt.Sprintf("%s: %s", can.Name, can.Found)
		if !can.Runs {
			errs = append(errs, errors.New("datapath "+text))
			continue
		}
		c := *o.Config
		c.Datapath = can.Name
		d, err := openDatapath(opening{Config: &c, log: o.log, paused: o.paused, inherits: o.inherits, quiet: o.quiet})
		if err == nil {
			return d, why + "; " + text, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, errors.ErrUnsupported) {
			return nil, "", errors.Join(errs...)
		}
		o.log.Warn("datapath passed over", "datapath", can.Name, "error", err)
		why += fmt.Sprintf("; not %s: %v", can.Name, err)
	}
	return nil, "", fmt.Errorf("no datapath runs here: %w: %w", errors.ErrUnsupported, errors.Join(errs...))
}
