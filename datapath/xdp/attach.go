package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// start makes the driver work: neighbours, slow path, and last the programs.
func (d *Driver) start(p ports) error {
	if err := d.watchHops(p); err != nil {
		return err
	}
	if err := d.startSlow(p); err != nil {
		return err
	}
	if p.n3.index == p.n6.index {
		return d.attach(d.objs.UpfN3N6Xdp, p.n3)
	}
	if err := d.attach(d.objs.UpfN3Xdp, p.n3); err != nil {
		return err
	}
	return d.attach(d.objs.UpfN6Xdp, p.n6)
}

// attach puts prog on the device in the configured mode.
func (d *Driver) attach(prog *ebpf.Program, p port) error {
	modes := map[Mode][]Mode{Auto: {Native, Generic}, "": {Native, Generic}, Native: {Native}, Generic: {Generic}}
	flags := map[Mode]link.XDPAttachFlags{Native: link.XDPDriverMode, Generic: link.XDPGenericMode}
	if modes[d.cfg.Mode] == nil {
		return fmt.Errorf("xdp: mode %q: want auto, native or generic", d.cfg.Mode)
	}
	var err error
	for _, m := range modes[d.cfg.Mode] {
		var l link.Link
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: p.index, Flags: flags[m]})
		if err == nil {
			d.detach = append(d.detach, l.Close)
			d.log.Info("attached", "device", p.name, "mode", string(m))
			return nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	return attachError(err, p)
}

func attachError(err error, p port) error {
	switch {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		return fmt.Errorf("xdp: device %s has an XDP program already (see `ip link show %s`): %w", p.name, p.name, err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("xdp: attach to %s: needs CAP_NET_ADMIN and CAP_BPF: %w", p.name, err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("xdp: device %s cannot do it (try mode generic): %w: %w", p.name, err, errors.ErrUnsupported)
	}
	return fmt.Errorf("xdp: attach to %s with MTU %d (too large for native XDP?): %w", p.name, p.mtu, err)
}
