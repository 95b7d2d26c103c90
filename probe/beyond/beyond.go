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
	"slices"
	"strings"

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
type Beyond struct{ probe *probe.Probe }

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
	return &Beyond{p}, nil
}

// Close takes all programs off.
func (b *Beyond) Close() error { return b.probe.Close() }

// Add begins to measure beside a UPF. There is room for eight.
//
// Errors: ErrNoDevice; those of the namespace and of the kernel.
func (b *Beyond) Add(t find.Target) error {
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
	up, err := b.probe.AddUPF(probe.UPF{Name: t.Name + after, UEs: around.ues})
	if err != nil {
		return err
	}
	down, err := b.probe.AddUPF(probe.UPF{Name: t.Name + before, UEs: around.ues})
	if err != nil {
		return err
	}
	// First where packets leave: what came in before would be lost.
	for _, device := range inner {
		if err := b.attach(down, namespace, device, probe.Egress, probe.Out); err != nil {
			return err
		}
	}
	for _, device := range around.outer {
		err := errors.Join(b.attach(up, namespace, device, probe.Egress, probe.Out), b.attach(down, namespace, device, probe.Ingress, probe.In))
		if err != nil {
			return err
		}
	}
	for _, device := range inner {
		if err := b.attach(up, namespace, device, probe.Ingress, probe.In); err != nil {
			return err
		}
	}
	return nil
}

func (b *Beyond) attach(upf int, namespace, device string, h probe.Hook, way probe.Way) error {
	_, err := b.probe.Attach(probe.Point{UPF: upf, Namespace: namespace, Device: device, Hook: h, Way: way, Side: probe.N6})
	return err
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
