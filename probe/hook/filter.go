package hook

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// filter is a program as a filter of the qdisc clsact. It is known by its handle, which
// is that of the process, so that nothing of others is touched.
type filter struct {
	links  *netlink.Handle // in the device's namespace, of which there may be no path any more; nil: closed
	device string
	attrs  netlink.FilterAttrs
}

// Priorities at the ends of what a filter may have.
const (
	firstPriority = 1
	lastPriority  = 0xbfff
)

func addFilter(program *ebpf.Program, p Place, d Device) (Attachment, error) {
	qdisc := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: d.Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
	if err := netlink.QdiscAdd(qdisc); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("qdisc clsact on %s (needs CAP_NET_ADMIN): %w", p.Device, err)
	}
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("filter on %s: %w", p.Device, err)
	}
	f := &filter{links: links, device: p.Device, attrs: netlink.FilterAttrs{
		LinkIndex: d.Index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: uint32(os.Getpid()),
		Protocol: unix.ETH_P_ALL, Priority: lastPriority,
	}}
	if p.Egress {
		f.attrs.Parent = netlink.HANDLE_MIN_EGRESS
	}
	if p.First {
		f.attrs.Priority = firstPriority
	}
	for {
		err := links.FilterAdd(f.of(program))
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EEXIST) {
			links.Close()
			return nil, fmt.Errorf("filter on %s: %w", p.Device, err)
		}
		f.attrs.Handle += 1 << 22 // above what a PID can be: another one of this process
	}
}

func (f *filter) of(program *ebpf.Program) *netlink.BpfFilter {
	return &netlink.BpfFilter{FilterAttrs: f.attrs, Fd: program.FD(), Name: "plumbline-probe", DirectAction: true}
}

// Update implements [Attachment].
func (f *filter) Update(program *ebpf.Program) error {
	if f.links == nil {
		return fmt.Errorf("filter on %s: %w", f.device, os.ErrClosed)
	}
	if err := f.links.FilterReplace(f.of(program)); err != nil {
		return fmt.Errorf("filter on %s: %w", f.device, err)
	}
	return nil
}

// Close takes the filter off. The qdisc stays, which may be others' by now.
func (f *filter) Close() error {
	if f.links == nil {
		return nil
	}
	links := f.links
	f.links = nil
	defer links.Close()
	err := links.FilterDel(&netlink.BpfFilter{FilterAttrs: f.attrs})
	switch {
	case err == nil, errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL): // the device has gone
		return nil
	}
	return fmt.Errorf("filter on %s: %w", f.device, err)
}
