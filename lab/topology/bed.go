package topology

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package topology bed ../../bpf/lab/bed.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu

// Bed is the program that only redirects, in the UPF's place. What it passes is
// the bed limit: the most that these links, the generator and the meter allow.
type Bed struct {
	objects bedObjects
	holds   []io.Closer
}

// AttachBed puts the redirecting program on the UPF's devices, in native mode.
// While another process has linked a program there, the redirecting one takes
// its place until [Bed.Close], in the mode of the link.
func (t *Topology) AttachBed() (*Bed, error) {
	b, err := t.loadBed()
	if err != nil {
		return nil, err
	}
	err = b.attach(t.N3.UPF, b.objects.BedN3)
	if err == nil && !t.Config.OnAStick {
		err = b.attach(t.N6.UPF, b.objects.BedN6)
	}
	if err != nil {
		return nil, fmt.Errorf("topology: bed: %w", errors.Join(err, b.Close()))
	}
	return b, nil
}

// AttachBedTC does the same on socket buffers, by tcx: the limit of what is made of
// them for every frame. Nothing else is to be attached.
func (t *Topology) AttachBedTC() (*Bed, error) {
	b, err := t.loadBed()
	if err != nil {
		return nil, err
	}
	for _, on := range []struct {
		port    Port
		program *ebpf.Program
	}{{t.N3.UPF, b.objects.BedN3Tc}, {t.N6.UPF, b.objects.BedN6Tc}} {
		hold, err := on.port.AttachTCX(on.program)
		if err != nil {
			return nil, fmt.Errorf("topology: bed: %w", errors.Join(err, b.Close()))
		}
		b.holds = append(b.holds, hold)
	}
	return b, nil
}

func (t *Topology) loadBed() (*Bed, error) {
	spec, err := loadBed()
	if err != nil {
		return nil, fmt.Errorf("topology: bed: %w", err)
	}
	err = errors.Join(
		spec.Variables["to_n3"].Set(hopOver(t.N3)),
		spec.Variables["to_n6"].Set(hopOver(t.N6)))
	if err != nil {
		return nil, fmt.Errorf("topology: bed: %w", err)
	}
	b := &Bed{}
	if err := spec.LoadAndAssign(&b.objects, nil); err != nil {
		return nil, fmt.Errorf("topology: bed: %w", err)
	}
	return b, nil
}

func (b *Bed) attach(p Port, program *ebpf.Program) error {
	var hold io.Closer
	hold, err := p.AttachXDP(program)
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) {
		hold, err = p.takeOver(program)
	}
	if err == nil {
		b.holds = append(b.holds, hold)
	}
	return err
}

// Close takes the program off.
func (b *Bed) Close() error {
	var errs []error
	for _, hold := range b.holds {
		errs = append(errs, hold.Close())
	}
	return errors.Join(append(errs, b.objects.Close())...)
}

// hopOver is what the redirecting program writes to send a frame over l.
func hopOver(l Link) bedHop {
	hop := bedHop{Device: uint32(l.UPF.Index)}
	addresses := append(append([]byte{}, l.Peer.MAC...), l.UPF.MAC...)
	for i := range hop.Addresses {
		hop.Addresses[i] = binary.NativeEndian.Uint16(addresses[2*i:])
	}
	return hop
}

// AttachXDP attaches program to the port in native mode. Closing the link takes
// it off.
func (p Port) AttachXDP(program *ebpf.Program) (l link.Link, err error) {
	err = p.Namespace.Do(func() error {
		l, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: p.Index, Flags: link.XDPDriverMode})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("attach XDP to %s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	return l, nil
}

// AttachTCX attaches program to what the port receives, on socket buffers. Closing
// the link takes it off.
//
// tcx came with Linux 6.6.
func (p Port) AttachTCX(program *ebpf.Program) (l link.Link, err error) {
	err = p.Namespace.Do(func() error {
		l, err = link.AttachTCX(link.TCXOptions{Program: program, Interface: p.Index, Attach: ebpf.AttachTCXIngress})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("attach tcx to %s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	return l, nil
}
