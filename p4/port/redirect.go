package port

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// Objects are what ports load.
func Objects() []verifier.Object {
	return []verifier.Object{{
		Name: "port", Feature: "ports of the P4 switch on AF_XDP sockets", Needed: []string{"port_frames"},
		Load: func() (*ebpf.CollectionSpec, error) {
			spec, err := loadRedirect()
			if err == nil {
				delete(spec.Programs, "port_tags") // it is bound to a device when it is loaded
			}
			return spec, err
		},
	}}
}

// redirect is the program of a port, attached.
type redirect struct {
	sockets *ebpf.Map // by queue
	program *ebpf.Program
	link    link.Link
	mode    Mode // [ModeNative], [ModeGeneric]
}

// maxQueues is QUEUE_MAX of bpf/port.bpf.c.
const maxQueues = 256

// devBoundOnly is BPF_F_XDP_DEV_BOUND_ONLY: the program is for one device, and can read its frame metadata.
const devBoundOnly = 1 << 6

// load loads the program for a device. tags: the one that puts tags back.
func (r *redirect) load(index int, tags bool) error {
	spec, err := loadRedirect()
	if err != nil {
		return fmt.Errorf("program: %w", err)
	}
	name, other := "port_frames", "port_tags"
	if tags {
		name, other = other, name
		spec.Programs[name].Ifindex, spec.Programs[name].Flags = uint32(index), devBoundOnly
	}
	delete(spec.Programs, other)
	all, err := ebpf.NewCollection(spec)
	if err != nil {
		return loadError(err)
	}
	defer all.Close() // what is not taken
	r.program, r.sockets = all.DetachProgram(name), all.DetachMap("port_sockets")
	return nil
}

func loadError(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("program: needs CAP_BPF and CAP_NET_ADMIN: %w", err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("program: this kernel cannot do it: %w: %w", err, errors.ErrUnsupported)
	}
	return fmt.Errorf("program: %w", verifier.Explain(err))
}

// attach puts the program on the device: in its driver, or, where that cannot, behind it. A link of the process: the kernel
// takes the program off when the process ends, however it ends.
func (r *redirect) attach(index int, nativeOnly bool) error {
	modes := []struct {
		mode Mode
		flag link.XDPAttachFlags
	}{{ModeNative, link.XDPDriverMode}, {ModeGeneric, link.XDPGenericMode}}
	if nativeOnly {
		modes = modes[:1]
	}
	var err error
	for _, m := range modes {
		r.link, err = link.AttachXDP(link.XDPOptions{Program: r.program, Interface: index, Flags: m.flag})
		if err == nil {
			r.mode = m.mode
			return nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	switch {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		return fmt.Errorf("the device has an XDP program already (`ip link show` names it): %w", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("attach a program: needs CAP_NET_ADMIN and CAP_BPF: %w", err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the driver takes no XDP program, or not with this MTU: %w: %w", err, errors.ErrUnsupported)
	}
	return fmt.Errorf("attach a program: %w", err)
}

// detach has frames go to the kernel again.
func (r *redirect) detach() error {
	if r.link == nil {
		return nil
	}
	err := r.link.Close()
	r.link = nil
	return err
}

func (r *redirect) close() error {
	errs := []error{r.detach()}
	if r.program != nil {
		errs = append(errs, r.program.Close(), r.sockets.Close())
	}
	return errors.Join(errs...)
}
