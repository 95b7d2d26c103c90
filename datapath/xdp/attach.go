package xdp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// start makes the driver work: neighbours, slow path, and last the programs.
func (d *Driver) start() error {
	for _, step := range []func() error{d.watchHops, d.startSlow, d.startURREvents, d.startWatching, d.attachAll} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// startWatching starts what looks after sessions and peers now and then.
func (d *Driver) startWatching() error {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { d.reportErrors(ctx) })
	if d.cfg.EchoInterval > 0 {
		done.Go(func() { d.supervise(ctx) })
	}
	d.detach = append(d.detach, func() error {
		cancel()
		done.Wait()
		return nil
	})
	return nil
}

// attachAll puts the programs on all devices.
func (d *Driver) attachAll() error {
	for _, dev := range d.ports.devices() {
		prog := d.objs.UpfGtpuXdp
		if dev.index == d.ports.n6.index {
			prog = d.objs.UpfBothXdp
		}
		if err := d.attach(prog, dev); err != nil {
			return err
		}
	}
	if d.ports.onGTPU(d.ports.n6.index) {
		return nil
	}
	return d.attach(d.objs.UpfN6Xdp, d.ports.n6.device)
}

// attach puts prog on the device in the configured mode.
func (d *Driver) attach(prog *ebpf.Program, p device) error {
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

func attachError(err error, p device) error {
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
