// Package hook puts programs at devices of any network namespace: as tcx links, which
// end with the process whatever becomes of it, or as filters of clsact on kernels before
// 6.6, which do not.
//
// Programs that are there already keep their places and see the same packets: who hooks
// on returns TC_ACT_UNSPEC, which asks the next one.
package hook

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// Place is where a program of type SchedCLS stands.
type Place struct {
	Namespace string // path of the network namespace; empty: that of the process
	Device    string // name there
	Egress    bool   // sees what the device sends, else what it receives
	First     bool   // before the programs that are there, else behind them

	clsact bool // in tests: as on kernels before 6.6
}

// Device is what there is of a device when it is looked at.
type Device struct {
	Index int
	Bare  bool // packets have no Ethernet header
	Tun   bool // TUN or TAP: the program that made it is at its other end

	Loopback bool // receives what it sends
}

// Find returns the device.
func (p Place) Find() (Device, error) {
	var d Device
	err := nsenter.In(p.Namespace, func() (err error) {
		d, err = find(p.Device)
		return err
	})
	return d, err
}

// find looks for a device of the thread's namespace.
func find(name string) (Device, error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return Device{}, fmt.Errorf("device %s: %w", name, err)
	}
	return Device{
		Index: l.Attrs().Index,
		Bare:  l.Attrs().EncapType != "ether" && l.Attrs().EncapType != "loopback",
		Tun:   l.Type() == "tuntap" || l.Type() == "tun",

		Loopback: l.Attrs().Flags&net.FlagLoopback != 0,
	}, nil
}

// Attachment is a program at a place. Closing takes it off; it is no error if the device
// has gone meanwhile.
type Attachment interface {
	io.Closer
	// Update puts another program in the place of the one that is there: each packet meets
	// one of them.
	Update(program *ebpf.Program) error
}

// Attach puts a program at a place.
func Attach(program *ebpf.Program, p Place) (Attachment, error) {
	var attached Attachment
	err := nsenter.In(p.Namespace, func() error {
		d, err := find(p.Device)
		if err == nil {
			attached, err = p.attach(program, d)
		}
		return err
	})
	return attached, err
}

func (p Place) attach(program *ebpf.Program, d Device) (Attachment, error) {
	if p.clsact {
		return addFilter(program, p, d)
	}
	options := link.TCXOptions{Program: program, Interface: d.Index, Attach: ebpf.AttachTCXIngress, Anchor: link.Tail()}
	if p.Egress {
		options.Attach = ebpf.AttachTCXEgress
	}
	if p.First {
		options.Anchor = link.Head()
	}
	l, err := link.AttachTCX(options)
	if errors.Is(err, ebpf.ErrNotSupported) {
		return addFilter(program, p, d)
	}
	if err != nil {
		return nil, fmt.Errorf("device %s (needs CAP_NET_ADMIN and CAP_BPF): %w", p.Device, err)
	}
	return l, nil
}
