package watch

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
)

// UPFs says what is measured, and what of it is missing; behind that, by their names, the
// UPFs that are left out.
func (w *Watch) UPFs() []export.UPF {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []export.UPF
	for _, u := range w.upfs {
		one := described(&u.target, u.missing())
		one.Gaps = slices.Clone(u.gaps)
		all = append(all, one)
	}
	for _, name := range slices.Sorted(maps.Keys(w.left)) {
		l := w.left[name]
		all = append(all, described(&l.target, l.err.Error()))
	}
	return all
}

func described(t *find.Target, missing string) export.UPF {
	var containers []string
	for _, c := range t.Containers {
		containers = append(containers, c.String())
	}
	return export.UPF{
		Name: t.Name, PID: t.PID, Command: t.Command, Container: strings.Join(containers, " in "), Namespace: t.Namespace,
		Datapath: string(t.Datapath), Why: printable.Lines(t.Why), N3: addresses(t.N3), N4: addresses(t.N4), Missing: printable.Lines(missing),
	}
}

// missing says what of a UPF is not measured, and why; empty: nothing.
func (u *upf) missing() string {
	var parts []string
	if u.gone {
		return "it has ended"
	}
	if u.target.Missing != "" {
		parts = append(parts, u.target.Missing)
	}
	for device, err := range u.failed {
		parts = append(parts, fmt.Sprintf("%s: %v", device, err))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func addresses(list []netip.Addr) []string {
	var all []string
	for _, a := range list {
		all = append(all, a.String())
	}
	return all
}

// Names returns those of the UPFs, by their index in points.
func (w *Watch) Names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]string, len(w.upfs))
	for i, u := range w.upfs {
		names[i] = u.target.Name
	}
	return names
}

// Entry returns the device by which packets of a UPF and direction come in, or came in
// until it was left; empty: it is not known.
func (w *Watch) Entry(name string, d probe.Direction) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	side := probe.N3
	if d == probe.Downlink {
		side = probe.N6
	}
	var devices []string
	for _, u := range w.upfs {
		if u.target.Name != name {
			continue
		}
		for _, p := range u.target.Points { // also those that were left: samples come later
			if p.Way == probe.In && (p.Side == side || p.Side == probe.Both) && u.failed[p.Device] == nil {
				devices = append(devices, p.Device)
			}
		}
	}
	slices.Sort(devices)
	return strings.Join(slices.Compact(devices), "+")
}

// learnStatic teaches the probe what the slice map says of a UPF.
func (w *Watch) learnStatic(index int, name string) error {
	if w.config.Slices == nil {
		return nil
	}
	for _, s := range w.config.Slices.Static() {
		if s.UPF != "" && s.UPF != name {
			continue
		}
		if err := w.probe.Learn(index, s.Key, s.Slice); err != nil {
			return fmt.Errorf("slice %s: %w", s.Slice.Name, err)
		}
	}
	return nil
}
