package xdp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// start makes the driver work: slow path, neighbours, and last the programs.
func (d *Driver) start() error {
	// The sockets come first: they are refused if another UPF still runs here.
	if err := d.startTracer(); err != nil {
		return err
	}
	if err := d.serve(d.startSlow, d.startEthernet); err != nil {
		return err
	}
	for _, step := range []func() error{d.watchOwn, d.watchHops, d.startURREvents} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := d.serve(d.startWatching); err != nil {
		return err
	}
	d.nat.tidy()
	if d.beside != nil {
		return nil // not before Settle
	}
	if err := d.serve(d.attachAll); err != nil {
		return err
	}
	d.hops.leaveLimbo()
	return nil
}

// startWatching starts what looks after sessions and peers now and then.
func (d *Driver) startWatching() error {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { d.reportErrors(ctx) })
	done.Go(func() { d.expireNATs(ctx) })
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
	d.warnOfNoTarget()
	for _, step := range []func() error{d.tagAll, d.startSpread, d.attachCutter, d.watchSent} {
		if err := step(); err != nil {
			return err
		}
	}
	gtpu, n6 := d.ports.devices(), devicesOf(d.routed())
	for _, dev := range gtpu {
		prog := d.objs.UpfGtpuXdp
		if onDevice(n6, dev.index) {
			prog = d.objs.UpfBothXdp
		}
		if err := d.attach(d.programOf(dev, prog), dev); err != nil {
			return err
		}
	}
	for _, dev := range n6 {
		if onDevice(gtpu, dev.index) {
			continue
		}
		if err := d.attach(d.programOf(dev, d.objs.UpfN6Xdp), dev); err != nil {
			return err
		}
	}
	for i := range d.ports.n6 {
		if !d.cfg.N6.Networks[i].Ethernet {
			continue
		}
		if err := d.attach(d.objs.UpfEtherXdp, d.ports.n6[i].device); err != nil {
			return err
		}
	}
	return d.pins.leaveHooks()
}

// programOf returns the program of a device, which is plain if its ports have no
// tags and its packets stay where they come.
func (d *Driver) programOf(dev device, plain *ebpf.Program) *ebpf.Program {
	switch {
	case len(d.cfg.Spread) > 0:
		return d.objs.UpfSpreadXdp
	case d.ports.tagged(dev.index):
		return d.objs.UpfVlanXdp
	}
	return plain
}

// routed returns the ports of the data networks that are not Ethernet ones.
func (d *Driver) routed() []port {
	var all []port
	for i := range d.ports.n6 {
		if !d.cfg.N6.Networks[i].Ethernet {
			all = append(all, d.ports.n6[i])
		}
	}
	return all
}

// devices returns the names of all on which programs are.
func (d *Driver) devices() []string {
	names := d.ports.names()
	if d.cut != nil {
		names = append(names, d.cut.rx.name)
	}
	return names
}

// attach puts prog on the device.
func (d *Driver) attach(prog *ebpf.Program, p device) error {
	if d.pins != nil {
		switch l := d.hook.attached(d, p); {
		case l == nil:
		case d.losesFrames(p):
			if err := errors.Join(l.Unpin(), l.Close()); err != nil {
				return fmt.Errorf("xdp: leave native mode on %s: %w", p.name, err)
			}
		default:
			return d.replace(l, prog, p)
		}
	}
	l, mode, err := d.hook.attach(d, prog, p)
	if err != nil {
		return err
	}
	if d.pins != nil {
		if err := l.Pin(d.pins.attachment(d.hook.pinOf(mode), p.name)); err != nil {
			return errors.Join(fmt.Errorf("xdp: pin attachment to %s: %w", p.name, err), l.Close())
		}
	}
	d.attached(d.hook.pinOf(mode)+p.name, l, true)
	d.log.Info("attached", "device", p.name, "mode", mode)
	return nil
}

// replace puts prog in the place of the program that an earlier process left on
// the device: each packet meets the one or the other.
func (d *Driver) replace(l attachment, prog *ebpf.Program, p device) error {
	if err := l.Update(prog); err != nil {
		return errors.Join(fmt.Errorf("xdp: replace the program on %s: %w", p.name, err), l.Close())
	}
	d.pins.replaced = true
	d.attached(d.hook.pinOf(modeOf(l))+p.name, l, false)
	d.log.Info("taken over", "device", p.name)
	return nil
}

// attached notes an attachment, and under which name it is pinned, if any is. anew
// says that it was not there before us.
func (d *Driver) attached(pin string, l attachment, anew bool) {
	if d.links == nil {
		d.links = map[string]attachment{}
	}
	d.links[pin] = l
	d.detach = append(d.detach, func() error { return d.detachLink(l, anew) })
}

// detachLink takes the program off its device, unless it is to stay. anew says
// that it was not there before us.
func (d *Driver) detachLink(l attachment, anew bool) error {
	if d.pins == nil || d.pins.keep && !(anew && d.pins.failed) {
		return l.Close()
	}
	return errors.Join(l.Unpin(), l.Close())
}

// modes returns in which modes the programs are tried, in turn. What a program in native
// mode redirects is lost on a device that takes no such frames; in generic mode the
// kernel sends it as any packet. It is the device where frames leave that decides, and
// from each they may leave on any.
func (d *Driver) modes() ([]Mode, error) {
	switch d.cfg.Mode {
	case Native, Generic:
		return []Mode{d.cfg.Mode}, nil
	case Auto, "":
	default:
		return nil, fmt.Errorf("xdp: mode %q: want auto, native or generic", d.cfg.Mode)
	}
	if d.noTarget() == "" {
		return []Mode{Native, Generic}, nil
	}
	return []Mode{Generic}, nil
}

// noTarget names the devices to which programs in native mode cannot redirect, each with why.
func (d *Driver) noTarget() string {
	var all []string
	for _, p := range devicesOf(d.ports.all()) {
		if p.noTarget != "" {
			all = append(all, p.name+": "+p.noTarget)
		}
	}
	return strings.Join(all, ", ")
}

// losesFrames tells of a device with a program in native mode that it has to be in generic
// mode: since an earlier process left it there, a far end has stopped to take redirected
// frames.
func (d *Driver) losesFrames(p device) bool {
	if modes, err := d.modes(); d.hook != &onXDP || err != nil || slices.Contains(modes, Native) {
		return false
	}
	l, err := netlink.LinkByIndex(p.index)
	return err == nil && l.Attrs().Xdp != nil && l.Attrs().Xdp.AttachMode == nl.XDP_ATTACHED_DRV
}

// warnOfNoTarget says that XDP runs in generic mode, or that packets get lost.
func (d *Driver) warnOfNoTarget() {
	reason := d.noTarget()
	if reason == "" || d.hook != &onXDP || d.cfg.Mode == Generic {
		return
	}
	const advice = "ethtool -K DEVICE gro on at the far end, or datapath tc"
	if d.cfg.Mode == Native {
		d.log.Warn("packets sent by XDP in native mode may get lost", "reason", reason, "advice", advice)
		return
	}
	d.log.Warn("XDP runs in generic mode, which is slower", "reason", reason, "advice", advice)
}

// attachXDP puts prog on the device in the configured mode.
func (d *Driver) attachXDP(prog *ebpf.Program, p device) (attachment, string, error) {
	modes, err := d.modes()
	if err != nil {
		return nil, "", err
	}
	flags := map[Mode]link.XDPAttachFlags{Native: link.XDPDriverMode, Generic: link.XDPGenericMode}
	for _, m := range modes {
		var l link.Link
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: p.index, Flags: flags[m]})
		if err == nil {
			return l, string(m), nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	return nil, "", attachError(err, p)
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
