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

	"plumbline/probe"
	"plumbline/probe/find"
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
	attached      []*probe.Attachment
}

// Stage is what the kernel did with the packets of a UPF: its Direction is Uplink after
// the UPF, Downlink before it.
type Stage probe.Series

// Open makes a measurement of no UPF yet. Of the configuration, InFlight, Timeout and
// NAT count: NAT must be set where the namespace translates UEs' addresses. What comes
// back to a translated address is not known to be a UE's, and not seen.
func Open(c probe.Config) (*Beyond, error) {
	p, err := probe.Open(probe.Config{InFlight: c.InFlight, Timeout: c.Timeout, NAT: c.NAT})
	if err != nil {
		return nil, fmt.Errorf("beyond: %w", err)
	}
	return &Beyond{probe: p, places: map[string]*place{}}, nil
}

// Close takes all programs off.
func (b *Beyond) Close() error { return b.probe.Close() }

// Add begins to measure beside a UPF, or begins again where its devices are now. There is
// room for eight UPFs.
//
// Errors: ErrNoDevice; those of the namespace and of the kernel.
func (b *Beyond) Add(t find.Target) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.add(t); err != nil {
		return fmt.Errorf("beyond: UPF %s: %w", t.Name, err)
	}
	return nil
}

func (b *Beyond) add(t find.Target) error {
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
	p.leave()
	for _, point := range p.points(namespace, inner, around.outer) {
		a, err := b.probe.Attach(point)
		if err != nil {
			return err
		}
		p.attached = append(p.attached, a)
	}
	return nil
}

// Leave takes the programs beside a UPF off, which has ended; what was counted stays.
func (b *Beyond) Leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.places[name]; p != nil {
		p.leave()
	}
}

func (p *place) leave() {
	for _, a := range p.attached {
		_ = a.Close() // its device may be gone
	}
	p.attached = nil
}

// placeOf returns the place beside a UPF.
func (b *Beyond) placeOf(name string, ues []netip.Prefix) (*place, error) {
	if p := b.places[name]; p != nil {
		return p, nil
	}
	var p place
	var err error
	if p.after, err = b.probe.AddUPF(probe.UPF{Name: name + after, UEs: ues}); err != nil {
		return nil, err
	}
	if p.before, err = b.probe.AddUPF(probe.UPF{Name: name + before, UEs: ues}); err != nil {
		return nil, err
	}
	b.places[name] = &p
	return &p, nil
}

// points are those of a place: first where packets leave, since what came in before would
// be lost.
func (p *place) points(namespace string, inner, outer []string) []probe.Point {
	var out, in []probe.Point
	add := func(list *[]probe.Point, upf int, devices []string, h probe.Hook, way probe.Way) {
		for _, d := range devices {
			*list = append(*list, probe.Point{UPF: upf, Namespace: namespace, Device: d, Hook: h, Way: way, Side: probe.N6})
		}
	}
	add(&out, p.before, inner, probe.Egress, probe.Out)
	add(&out, p.after, outer, probe.Egress, probe.Out)
	add(&in, p.before, outer, probe.Ingress, probe.In)
	add(&in, p.after, inner, probe.Ingress, probe.In)
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
