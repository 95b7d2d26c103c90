package n4

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/verifier"
	"github.com/plumbline-upf/plumbline/probe/hook"
)

// Names in bpf/probe_n4.bpf.c.
const (
	programName = "n4_datagram"
	ringName    = "n4_ring"
	tapName     = "n4_tap"
	linkName    = "n4_link"
	lostName    = "n4_lost"
)

// Attachment is a point whose datagrams are observed.
type Attachment struct {
	m          *Monitor
	number     int
	collection *ebpf.Collection
	attached   []io.Closer
	once       sync.Once
	err        error
}

// Attach starts to observe the datagrams of a point. A closed point continues with its counts, as
// when its device was recreated.
func (m *Monitor) Attach(p Point) (*Attachment, error) {
	m.attaching.Lock()
	defer m.attaching.Unlock()
	number, err := m.number(p)
	if err != nil {
		return nil, err
	}
	a := &Attachment{m: m, number: number}
	if err := a.attach(p); err != nil {
		return nil, errors.Join(fmt.Errorf("n4: %s: %w", p.Device, err), a.free())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attachments[number] = a
	return a, nil
}

// number returns an unused tap number for the point. If all are used, it returns that of a closed
// point.
func (m *Monitor) number(p Point) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.UPF < 0 || p.UPF >= len(m.upfs) {
		return 0, fmt.Errorf("n4: UPF %d of %d", p.UPF, len(m.upfs))
	}
	if i := slices.IndexFunc(m.taps, func(t *tap) bool { return t.Point == p }); i >= 0 {
		if m.attachments[i] != nil {
			return 0, fmt.Errorf("n4: %s of %s is attached already", p.Device, m.upfs[p.UPF].Name)
		}
		return i, nil
	}
	t := &tap{Point: p, n4: m.upfs[p.UPF].addresses()}
	if len(m.taps) < maxPoints {
		m.taps = append(m.taps, t)
		m.attachments = append(m.attachments, nil)
		return len(m.taps) - 1, nil
	}
	i := slices.Index(m.attachments, nil)
	if i < 0 {
		return 0, fmt.Errorf("n4: %s beside %d points: %w", p.Device, len(m.taps), ErrBound)
	}
	m.taps[i] = t
	return i, nil
}

// attach attaches the program to both directions of a device: first in the receive path and last in
// the send path, so that no verdict of another program hides packets. On lo, packets sent are also
// received.
func (a *Attachment) attach(p Point) error {
	ways := []hook.Place{
		{Namespace: p.Namespace, Device: p.Device, First: true},
		{Namespace: p.Namespace, Device: p.Device, Egress: true},
	}
	device, err := ways[0].Find()
	if err != nil {
		return err
	}
	if device.Loopback {
		ways = ways[:1]
	}
	header := uint32(inet.LenEthernet)
	if device.Bare {
		header = 0
	}
	if a.collection, err = loadCollection(a.number, header, a.m.ring); err != nil {
		return err
	}
	for _, way := range ways {
		attached, err := hook.Attach(a.collection.Programs[programName], way)
		if err != nil {
			return err
		}
		a.attached = append(a.attached, attached)
	}
	return nil
}

// loadCollection loads the program of a tap.
//
// header is the length of the device's link header; ring is shared by all taps, nil for
// one of its own.
func loadCollection(tap int, header uint32, ring *ebpf.Map) (*ebpf.Collection, error) {
	spec, err := loadTap()
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if err := errors.Join(spec.Variables[tapName].Set(uint16(tap)), spec.Variables[linkName].Set(header)); err != nil {
		return nil, fmt.Errorf("set variables: %w", err)
	}
	options := ebpf.CollectionOptions{}
	if ring != nil {
		options.MapReplacements = map[string]*ebpf.Map{ringName: ring}
	}
	collection, err := ebpf.NewCollectionWithOptions(spec, options)
	if err != nil {
		return nil, fmt.Errorf("program (needs CAP_BPF and CAP_NET_ADMIN): %w", verifier.Explain(err))
	}
	return collection, nil
}

// Close detaches the programs from the point, whose counts stay. It may be called twice.
func (a *Attachment) Close() error {
	a.once.Do(func() {
		a.m.attaching.Lock() // no concurrent attachment of the point
		defer a.m.attaching.Unlock()
		a.err = errors.Join(a.leave(), a.free())
	})
	return a.err
}

// leave removes the attachment from the Monitor. Programs are detached afterwards, while datagrams
// of other points are read.
func (a *Attachment) leave() error {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	lost, err := a.lost()
	a.m.taps[a.number].count.Lost += lost
	a.m.attachments[a.number] = nil
	return err
}

// lost is how many datagrams the ring had no room for.
func (a *Attachment) lost() (n uint64, err error) {
	if err := a.collection.Variables[lostName].Get(&n); err != nil {
		return 0, fmt.Errorf("n4: get %s: %w", lostName, err)
	}
	return n, nil
}

// free takes the programs off and gives back what was loaded.
func (a *Attachment) free() error {
	var errs []error
	for _, l := range a.attached {
		errs = append(errs, l.Close())
	}
	if a.collection != nil {
		a.collection.Close()
	}
	return errors.Join(errs...)
}
