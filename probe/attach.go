package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// maxAddresses of a UPF at N3: bpf/probe/probe.h, POINT_ADDRESSES.
const maxAddresses = len(probePoint{}.Ip4)

// pointState is a point at which the probe is, or was: counts go on when it comes back.
type pointState struct {
	point  Point
	number uint32

	mu       sync.Mutex
	program  *ebpf.Program // nil: it has none of its own
	attached io.Closer     // nil: it is not there
	device   hook.Device   // where it is
	cost     Cost          // of programs that were there before
}

// Attachment is a probe at a point.
type Attachment struct {
	Point
	state *pointState
}

// Close takes the probe off the point. What was counted there stays.
func (a *Attachment) Close() error {
	if err := a.state.detach(); err != nil {
		return fmt.Errorf("probe: leave %v: %w", a.Point, err)
	}
	return nil
}

// Attach puts the probe at a point: before others where packets come in, behind them
// where they leave. It may be a point where it was before, at a device that was made
// anew, and counts on. There is room for 1024 points; then those that were left first are
// forgotten.
func (p *Probe) Attach(at Point) (*Attachment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.UPF < 0 || at.UPF >= len(p.upfs) {
		return nil, fmt.Errorf("probe: attach to %v: UPF %d: there are %d", at, at.UPF, len(p.upfs))
	}
	s, err := p.stateOf(at)
	if err == nil {
		err = p.attach(s)
	}
	if err != nil {
		return nil, fmt.Errorf("probe: attach to %v: %w", at, err)
	}
	return &Attachment{at, s}, nil
}

var errClosed = errors.New("the probe is closed")

// stateOf returns what is known of a point. p.mu is held.
func (p *Probe) stateOf(at Point) (*pointState, error) {
	if p.closed {
		return nil, errClosed
	}
	if i := slices.IndexFunc(p.points, func(s *pointState) bool { return s.point == at }); i >= 0 {
		return p.points[i], nil
	}
	s := &pointState{point: at, number: uint32(len(p.points))}
	if len(p.points) < maxPoints {
		p.points = append(p.points, s)
		return s, nil
	}
	return s, p.replace(s)
}

// replace puts a point in the place of one that the probe has left. p.mu is held.
func (p *Probe) replace(s *pointState) error {
	i := slices.IndexFunc(p.points, func(old *pointState) bool { return !old.attachedNow() })
	if i < 0 {
		return fmt.Errorf("there are %d points, and no room for more", maxPoints)
	}
	s.number = p.points[i].number
	p.points = append(slices.Delete(p.points, i, i+1), s)
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return err
	}
	return p.base.Maps["count_by_point"].Put(s.number, make([]probeCount, cpus))
}

func (s *pointState) attachedNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attached != nil
}

func (p *Probe) attach(s *pointState) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached != nil {
		return errors.New("the probe is there already")
	}
	place := hook.Place{Namespace: s.point.Namespace, Device: s.point.Device, Egress: s.point.Hook == Egress, First: s.point.Way == In}
	device, err := place.Find()
	if err != nil {
		return err
	}
	s.device = device
	if s.point.Hook == HostIngress || s.point.Hook == HostEgress {
		s.attached, err = p.attachHost(s, device)
		return err
	}
	program, err := p.program(s, device)
	if err != nil {
		return err
	}
	attached, err := hook.Attach(program, place)
	if err != nil {
		return errors.Join(err, program.Close())
	}
	s.program, s.attached = program, attached
	return nil
}

// program loads the program of a point.
func (p *Probe) program(s *pointState, device hook.Device) (*ebpf.Program, error) {
	spec := p.spec.Copy()
	spec.Programs = map[string]*ebpf.ProgramSpec{"probe": spec.Programs["probe"]}
	if err := spec.Variables["here"].Set(p.constants(s, p.upfs[s.point.UPF], device)); err != nil {
		return nil, err
	}
	shared := map[string]*ebpf.Map{}
	for name, m := range p.base.Maps {
		if name != ".rodata" {
			shared[name] = m
		}
	}
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: shared})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.DetachProgram("probe"), nil
}

// constants is a point as its program knows it.
func (p *Probe) constants(s *pointState, upf UPF, device hook.Device) probePoint {
	c := probePoint{
		Number: s.number,
		Upf:    uint8(s.point.UPF),
		Way:    uint8(s.point.Way),
		Side:   uint8(s.point.Side),
		Bare:   flag(device.Bare),
		Own:    flag(device.Tun && s.point.Side != N3),
		Any:    flag(len(upf.N3) == 0),
		Pair:   uint16(p.numbers[pair{upf: s.point.UPF}]),
	}
	ip4, ip6 := 0, 0
	for _, a := range upf.N3 {
		if a.Unmap().Is4() {
			c.Ip4[ip4] = inPacket(a.Unmap())
			ip4++
			continue
		}
		b := a.As16()
		c.Ip6[ip6], c.Ip6[ip6+1] = binary.NativeEndian.Uint64(b[:]), binary.NativeEndian.Uint64(b[8:])
		ip6 += 2
	}
	return c
}

// detach takes the program off.
func (s *pointState) detach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached == nil {
		return nil
	}
	s.cost = s.total()
	err := s.attached.Close()
	if s.program != nil { // the host's are those of several points
		s.program.Close()
	}
	s.program, s.attached = nil, nil
	return err
}
