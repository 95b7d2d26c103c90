package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// AddUPF adds a UPF and returns its index. There is room for as many as are expected
// (Config.Expected), for others while there is any left, and for 64 in all; what was
// counted of one stays.
func (p *Probe) AddUPF(u UPF) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := len(p.upfs)
	if err := u.check(); err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	if i == MaxUPFs {
		return 0, fmt.Errorf("probe: UPF %s: there are %d, and no room for more", u.Name, MaxUPFs)
	}
	if _, ok := p.number(pair{upf: i}); !ok {
		return 0, fmt.Errorf("probe: UPF %s: no room for it beside %d UPFs with %d slices: more must be expected when the probe begins",
			u.Name, i, len(p.pairs)-i)
	}
	p.upfs = append(p.upfs, u)
	for _, s := range p.cfg.Slices {
		p.number(pair{upf: i, slice: s.Name})
	}
	if err := p.setPrefixes(i, nil, u.UEs); err != nil {
		return 0, fmt.Errorf("probe: UPF %s: %w", u.Name, err)
	}
	return i, nil
}

func (u *UPF) check() error {
	if len(u.N3) > maxAddresses {
		return fmt.Errorf("UPF %s: %d addresses at N3: want at most %d", u.Name, len(u.N3), maxAddresses)
	}
	return nil
}

// SetUPF says what a UPF is now that has come to have other addresses. Counts go on, what
// was learnt stays, and so does the probe at its points: each packet is looked at by the
// old addresses or by the new ones.
//
// An error may be that of one of the points, which keeps the old addresses; the others
// have the new ones.
func (p *Probe) SetUPF(upf int, u UPF) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("probe: UPF %s: %w", u.Name, errClosed)
	}
	if upf < 0 || upf >= len(p.upfs) {
		return fmt.Errorf("probe: UPF %d: there are %d", upf, len(p.upfs))
	}
	if err := u.check(); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	was := p.upfs[upf]
	p.upfs[upf] = u
	var errs []error
	if !slices.Equal(was.UEs, u.UEs) {
		errs = append(errs, p.setPrefixes(upf, was.UEs, u.UEs))
		p.renew()
	}
	if !slices.Equal(was.N3, u.N3) {
		for _, s := range p.points {
			if s.point.UPF == upf {
				errs = append(errs, p.reload(s))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("probe: UPF %s: %w", u.Name, err)
	}
	return nil
}

// setPrefixes says which prefixes a UPF's UEs have, in place of others. What was learnt of
// the same prefixes stays. p.mu is held.
func (p *Probe) setPrefixes(upf int, old, now []netip.Prefix) error {
	var errs []error
	for _, prefix := range old {
		if !slices.Contains(now, prefix) && !p.hasLearnt(upf, prefix) {
			errs = append(errs, gone(p.base.Maps["pair_by_prefix"].Delete(prefixKey(upf, prefix))))
		}
	}
	for _, prefix := range now {
		if !p.hasLearnt(upf, prefix) {
			errs = append(errs, p.putPrefix(upf, prefix, p.numbers[pair{upf: upf}]|prefixWeak))
		}
	}
	return errors.Join(errs...)
}

// hasLearnt reports whether a prefix, or a wider one that says more than it would, was
// learnt.
func (p *Probe) hasLearnt(upf int, prefix netip.Prefix) bool {
	var value uint32
	err := p.base.Maps["pair_by_prefix"].Lookup(prefixKey(upf, prefix), &value)
	return err == nil && value < prefixWeak
}

// reload has the program of a point know its UPF as it is now. It does without the path of
// the namespace, which may be that of a process that has ended. p.mu is held.
func (p *Probe) reload(s *pointState) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch at := s.attached.(type) {
	case *hostPoint:
		err = at.set(p, s, s.device, ebpf.UpdateExist)
	case hook.Attachment:
		err = p.replaceProgram(s, at)
	}
	if err != nil && !errors.Is(err, unix.ENOLINK) { // the device is gone, and nothing comes there
		return fmt.Errorf("point %v keeps the addresses that it had: %w", s.point, err)
	}
	return nil
}

// replaceProgram loads the program of a point anew, in place of the one that is there. s.mu
// is held.
func (p *Probe) replaceProgram(s *pointState, at hook.Attachment) error {
	program, err := p.program(s, s.device)
	if err != nil {
		return err
	}
	if err := at.Update(program); err != nil {
		return errors.Join(err, program.Close())
	}
	s.cost = s.total()
	err = s.program.Close()
	s.program = program
	return err
}
