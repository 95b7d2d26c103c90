package upf

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

// CheckP4 asks the target of datapath p4, if that is a switch, whether it can be used, and looks
// at the TAP devices that stand for its ports. Nothing is changed.
//
// Errors: those of [Start], one line each, joined.
func (c *Config) CheckP4(ctx context.Context) error {
	if c.Datapath != DatapathP4 || c.P4.Target == "" {
		return nil
	}
	var errs []error
	t, err := c.P4.target()
	if err == nil {
		err = t.Check(ctx)
	}
	if err != nil {
		errs = append(errs, fmt.Errorf("p4.target: %w", err))
	}
	for i, p := range c.P4.Ports {
		link, err := netlink.LinkByName(p.Device)
		if err != nil {
			continue // it is made
		}
		if tap, ok := link.(*netlink.Tuntap); !ok || tap.Mode != netlink.TUNTAP_MODE_TAP {
			errs = append(errs, fmt.Errorf("p4.ports[%d].device: %q is no TAP device: ip tuntap add dev NAME mode tap", i, p.Device))
		}
	}
	return errors.Join(errs...)
}
