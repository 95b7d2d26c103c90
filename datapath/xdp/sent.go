package xdp

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// maxDevices is DEVICES_MAX in bpf/sent.bpf.c.
const maxDevices = 128

// watchSent lets frames be counted that the programs redirected and a device did not
// take. Only XDP needs that: what TC redirects is in the statistics of the device.
func (d *Driver) watchSent() error {
	if d.hook != &onXDP {
		return nil
	}
	if err := d.countSent(); err != nil {
		// A kernel without BTF, or one that lets nobody look at tracepoints.
		d.log.Warn("redirected frames that a device does not take are not counted", "error", err)
	}
	return nil
}

// countSent attaches the programs that count them.
func (d *Driver) countSent() error {
	spec, err := loadSent()
	if err != nil {
		return fmt.Errorf("xdp: counts of redirected frames: %w", err)
	}
	var netns unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &netns); err != nil {
		return fmt.Errorf("xdp: network namespace: %w", err)
	}
	var devices [maxDevices]uint32
	own := devicesOf(d.ports.all())
	for i, dev := range own { // fewer than maxDevices: maxEndpoints, and datapath.MaxWays
		devices[i] = uint32(dev.index)
	}
	for name, value := range map[string]any{"sent_netns": uint32(netns.Ino), "sent_count": uint32(len(own)), "sent_devices": devices} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("xdp: set %s: %w", name, err)
		}
	}
	var objs sentObjects
	err = spec.LoadAndAssign(&objs, &ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{"counts": d.objs.Counts}})
	if err != nil {
		return loadError(err)
	}
	d.detach = append(d.detach, objs.Close)
	for _, p := range []*ebpf.Program{objs.SentFrames, objs.SentNot} {
		l, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			return fmt.Errorf("xdp: count redirected frames: %w", err)
		}
		d.detach = append(d.detach, l.Close)
	}
	return nil
}
