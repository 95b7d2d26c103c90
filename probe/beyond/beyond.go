// Package beyond measures what the kernel does with user packets on the other side of a
// UPF's TUN, TAP or tunnel device: routing, NAT and filters, from there to the device by
// which they leave the namespace, and on the way back.
//
//	uplink:   UPF ──► TUN ──● ingress ──► kernel ──► egress ●──► device    after the UPF
//	downlink: device ──● ingress ──► kernel ──► egress ●──► TUN ──► UPF    before it
//
// It is a probe of its own with the kernel in the UPF's place: nothing of the UPF's own
// measurement changes. Packets from and to programs in the namespace itself pass no
// device there: those that a UE sends to them are lost here, those to a UE are not seen.
package beyond

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
)

// ErrNoDevice is returned for a UPF that has no TUN, TAP or tunnel device: what it sends
// is on its way to the data network at once.
var ErrNoDevice = errors.New("no TUN, TAP or tunnel device")

// Names of the directions, after that of a UPF, in the probe.
const (
	after  = " after"
	before = " before"
)

// Beyond measures. Its methods may be called by several goroutines at once.
type Beyond struct {
	probe *probe.Probe

	mu     sync.Mutex
	places map[string]*place // by the name of the UPF
}

// place is where the programs beside a UPF stand.
type place struct {
	after, before int // indices in the probe
	attached      map[spot]*probe.Attachment
}

// spot is a point at a device: one that was made anew is another spot.
type spot struct {
	probe.Point
	index int
}

// Stage is what the kernel did with the packets of a UPF: its Direction is Uplink after
// the UPF, Downlink before it.
type Stage probe.Series

// Open makes a measurement of no UPF yet. Of the configuration, InFlight, Timeout, NAT and
// Expected count: NAT must be set where the namespace translates UEs' addresses. What comes
// back to a translated address is not known to be a UE's, and not seen.
func Open(c probe.Config) (*Beyond, error) {
	p, err := probe.Open(probe.Config{InFlight: c.InFlight, Timeout: c.Timeout, NAT: c.NAT, Expected: min(2*c.Expected, probe.MaxUPFs)})
	if err != nil {
		return nil, fmt.Errorf("beyond: %w", err)
	}
	return &Beyond{probe: p, places: map[string]*place{}}, nil
}

// Close takes all programs off.
func (b *Beyond) Close() error { return b.probe.Close() }

// Settle measures beside a UPF: where its devices are now, for the UEs that are routed to
// them. There is room for 32 UPFs.
//
// Errors: ErrNoDevice; those of the namespace and of the kernel.
func (b *Beyond) Settle(t find.Target) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.settle(t); err != nil {
		return fmt.Errorf("beyond: UPF %s: %w", t.Name, err)
	}
	return nil
}

func (b *Beyond) settle(t find.Target) error {
	inner, namespace := innerDevices(t.Points)
	if len(inner) == 0 {
		return ErrNoDevice
	}
	around, err := look(namespace, inner)
	if err != nil {
		return err
	}
	p, err := b.placeOf(t.Name, around.ues)
	if err != nil {
		return err
	}
	spots := p.spots(namespace, &around)
	for s := range p.attached {
		if !slices.Contains(spots, s) {
			p.leave(s)
		}
	}
	for _, s := range spots {
		if p.attached[s] != nil {
			continue
		}
		if p.attached[s], err = b.probe.Attach(s.Point); err != nil {
			delete(p.attached, s)
			return err
		}
	}
	return nil
}

// Leave takes the programs beside a UPF off, which has ended; what was counted stays.
func (b *Beyond) Leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.places[name]; p != nil {
		for s := range p.attached {
			p.leave(s)
		}
	}
}

func (p *place) leave(s spot) {
	_ = p.attached[s].Close() // its device may be gone
	delete(p.attached, s)
}

// placeOf returns the place beside a UPF, which has those UEs now.
func (b *Beyond) placeOf(name string, ues []netip.Prefix) (*place, error) {
	isAfter, isBefore := probe.UPF{Name: name + after, UEs: ues}, probe.UPF{Name: name + before, UEs: ues}
	if p := b.places[name]; p != nil {
		return p, errors.Join(b.probe.SetUPF(p.after, isAfter), b.probe.SetUPF(p.before, isBefore))
	}
	p := place{attached: map[spot]*probe.Attachment{}}
	var err error
	if p.after, err = b.probe.AddUPF(isAfter); err != nil {
		return nil, err
	}
	if p.before, err = b.probe.AddUPF(isBefore); err != nil {
		return nil, err
	}
	b.places[name] = &p
	return &p, nil
}

// spots are those of a place: first where packets leave, since what came in before would
// be lost.
func (p *place) spots(namespace string, s *surroundings) []spot {
	var out, in []spot
	add := func(list *[]spot, upf int, devices []device, h probe.Hook, way probe.Way) {
		for _, d := range devices {
			*list = append(*list, spot{probe.Point{UPF: upf, Namespace: namespace, Device: d.name, Hook: h, Way: way, Side: probe.N6}, d.index})
		}
	}
	add(&out, p.before, s.inner, probe.Egress, probe.Out)
	add(&out, p.after, s.outer, probe.Egress, probe.Out)
	add(&in, p.before, s.outer, probe.Ingress, probe.In)
	add(&in, p.after, s.inner, probe.Ingress, probe.In)
	return append(out, in...)
}

// innerDevices are those at which what is sent goes to the UPF as plain IP, and the
// namespace in which they are.
func innerDevices(points []probe.Point) (devices []string, namespace string) {
	for _, p := range points {
		if p.Side == probe.N6 && p.Way == probe.In && (p.Hook == probe.Egress || p.Hook == probe.HostEgress) && !slices.Contains(devices, p.Device) {
			devices, namespace = append(devices, p.Device), p.Namespace
		}
	}
	return devices, namespace
}

// Read returns what was counted so far, of stages that have seen packets.
func (b *Beyond) Read() ([]Stage, error) {
	snapshot, err := b.probe.Read()
	if err != nil {
		return nil, fmt.Errorf("beyond: %w", err)
	}
	var stages []Stage
	for _, s := range snapshot.Series {
		name, isAfter := strings.CutSuffix(s.UPF, after)
		if s.Direction = probe.Downlink; isAfter {
			s.Direction = probe.Uplink
		}
		s.UPF = strings.TrimSuffix(name, before)
		stages = append(stages, Stage(s))
	}
	return stages, nil
}
