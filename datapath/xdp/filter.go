package xdp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// filter is a program as a filter of the qdisc clsact, for kernels without tcx (before
// Linux 6.6). The kernel keeps it when the process ends; that it was meant to is said by
// a directory among the pins.
type filter struct {
	dev device
	pin string // "": none
}

// filterPriority is that of our filter, and filterHandle its number: filters of others
// before it are asked first.
const filterPriority, filterHandle = 0x706c, 1

func clsactOf(dev device) *netlink.Clsact {
	return &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: dev.index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
}

func (f *filter) attrs() netlink.FilterAttrs {
	return netlink.FilterAttrs{
		LinkIndex: f.dev.index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: filterHandle,
		Protocol: unix.ETH_P_ALL, Priority: filterPriority,
	}
}

// addFilter makes the filter, in place of one of an earlier process.
func addFilter(prog *ebpf.Program, dev device) (*filter, error) {
	if err := netlink.QdiscAdd(clsactOf(dev)); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("tc: qdisc clsact on %s (needs CAP_NET_ADMIN): %w", dev.name, err)
	}
	f := &filter{dev: dev}
	return f, f.Update(prog)
}

// pinnedFilter returns the filter of an earlier process, or nil.
func pinnedFilter(pin string, dev device) attachment {
	if _, err := os.Stat(pin); err != nil {
		return nil
	}
	f := &filter{dev, pin}
	filters, err := netlink.FilterList(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: dev.index}}, netlink.HANDLE_MIN_INGRESS)
	for _, has := range filters {
		if err == nil && has.Attrs().Priority == filterPriority && has.Attrs().Handle == filterHandle {
			return f
		}
	}
	_ = f.Unpin() // of a device that went
	return nil
}

// Update implements [attachment].
func (f *filter) Update(prog *ebpf.Program) error {
	err := netlink.FilterReplace(&netlink.BpfFilter{FilterAttrs: f.attrs(), Fd: prog.FD(), Name: "plumbline", DirectAction: true})
	if err != nil {
		return fmt.Errorf("tc: filter on %s: %w", f.dev.name, err)
	}
	return nil
}

// Pin implements [attachment].
func (f *filter) Pin(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f.pin = path
	return nil
}

// Unpin implements [attachment].
func (f *filter) Unpin() error {
	path := f.pin
	f.pin = ""
	return os.Remove(path)
}

// Close implements [attachment]: a filter that is not pinned ends. The qdisc stays,
// which may be others' by now.
func (f *filter) Close() error {
	if f.pin != "" {
		return nil
	}
	err := netlink.FilterDel(&netlink.BpfFilter{FilterAttrs: f.attrs()})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) { // the device has gone
		return nil
	}
	return err
}

// removeFilter ends the filter that a pin speaks of, whose device may have gone.
func removeFilter(pin, name string) error {
	f := &filter{pin: pin}
	if l, err := netlink.LinkByName(name); err == nil {
		f.dev = device{name: name, index: l.Attrs().Index}
		return errors.Join(f.Unpin(), f.Close())
	}
	return f.Unpin()
}
