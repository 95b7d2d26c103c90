package xdp

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath"
)

// objects are the programs and tables, and the memory of the programs' variables.
type objects struct {
	upfObjects
	sections
	extra map[string]*ebpf.Map // tables of the hook's programs alone
	split *ebpf.Program        // of TC's helper pair; nil on XDP
}

// assign takes programs and tables out of coll.
func (o *objects) assign(coll *ebpf.Collection) error {
	if err := coll.Assign(&o.upfObjects); err != nil {
		return err
	}
	if err := coll.Assign(&o.sections); err != nil {
		return err
	}
	o.split = coll.DetachProgram(splitProgram)
	o.extra = map[string]*ebpf.Map{}
	for _, name := range onTC.arrays {
		if m := coll.DetachMap(name); m != nil {
			o.extra[name] = m
		}
	}
	return nil
}

type sections struct {
	Bss    *ebpf.Map `ebpf:".bss"`
	Rodata *ebpf.Map `ebpf:".rodata"`
}

// Close frees what was loaded.
func (o *objects) Close() error {
	closeMaps(o.extra)
	return errors.Join(o.upfObjects.Close(), o.Bss.Close(), o.Rodata.Close(), o.split.Close())
}

// shared returns all maps by name.
func (o *objects) shared() map[string]*ebpf.Map {
	all := map[string]*ebpf.Map{".bss": o.Bss, ".rodata": o.Rodata}
	for v, i := reflect.ValueOf(o.upfMaps), 0; i < v.NumField(); i++ {
		all[v.Type().Field(i).Tag.Get("ebpf")] = v.Field(i).Interface().(*ebpf.Map)
	}
	for name, m := range o.extra {
		all[name] = m
	}
	return all
}

// startTracer makes a tracer, which has no programs yet.
func (d *Driver) startTracer() error {
	d.tracer = &tracer{d: d}
	d.detach = append(d.detach, d.tracer.close)
	return nil
}

// PrepareTraces loads what traces need, if that has not been done: the verifier
// takes as long for it as for all that packets need, so a start does not wait for
// it. The first trace does it, too, but only if the process still has the
// privileges with which it was started.
func (d *Driver) PrepareTraces() error {
	t := d.tracer
	if t == nil {
		return fmt.Errorf("xdp: trace: %w", datapath.ErrClosed)
	}
	t.loading.Lock()
	defer t.loading.Unlock()
	t.mu.Lock()
	ended := t.ended
	t.mu.Unlock()
	switch {
	case ended:
		return fmt.Errorf("xdp: trace: %w", datapath.ErrClosed)
	case t.coll != nil:
		return nil
	}
	return t.load()
}

// twins returns the twins of the programs, over the same tables.
func (d *Driver) twins() (*ebpf.CollectionSpec, map[string]*ebpf.Map, error) {
	spec, err := d.hook.loadTraced()
	if err != nil {
		return nil, nil, fmt.Errorf("xdp: traced programs: %w", err)
	}
	if err := d.hook.sameVariables(spec); err != nil {
		return nil, nil, err
	}
	shared := d.objs.shared()
	for name, m := range shared {
		s := spec.Maps[name]
		if s == nil {
			delete(shared, name)
			continue
		}
		s.MaxEntries, s.Type = m.MaxEntries(), m.Type()
	}
	for _, name := range d.hook.unused(d) {
		if p := spec.Programs[strings.Replace(name, "_xdp", "_traced", 1)]; p != nil {
			leaveOut(p, d.hook.pass)
		}
	}
	return spec, shared, nil
}

// twinNames are the twins in their order: TRACED_* of bpf/trace.h.
var twinNames = []string{"upf_gtpu_traced", "upf_n6_traced", "upf_both_traced", "upf_ether_traced", "upf_ether_gpdu_traced", "upf_again_traced"}

// load loads the twins.
func (t *tracer) load() error {
	spec, shared, err := t.d.twins()
	if err != nil {
		return err
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: shared})
	if err != nil {
		return loadError(err)
	}
	wants, err := mapMemory[tracedTraceWant](coll.Maps["trace_wants"])
	if err != nil {
		coll.Close()
		return err
	}
	for i, name := range twinNames {
		twin := coll.Programs[name]
		if twin == nil {
			continue // TC has none for both: its programs go on in others
		}
		if err := t.d.objs.TracedPrograms.Put(uint32(i), twin); err != nil {
			coll.Close()
			return errors.Join(fmt.Errorf("xdp: traced programs: %w", err), wants.unmap())
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.coll, t.wants = coll, wants
	return nil
}

// sameVariables reports whether the twins have the variables of the programs,
// each in its place: they are the same memory.
func (h *hook) sameVariables(traced *ebpf.CollectionSpec) error {
	spec, err := h.load()
	if err != nil {
		return fmt.Errorf("xdp: programs: %w", err)
	}
	for name, v := range spec.Variables {
		o := traced.Variables[name]
		if o == nil || o.SectionName != v.SectionName || o.Offset != v.Offset || o.Size() != v.Size() {
			return fmt.Errorf("xdp: variable %s of the traced programs is not where it should be", name)
		}
	}
	return nil
}

// open starts to read the ring, and diverts packets into the twins. The lock is
// held.
func (t *tracer) open() error {
	if t.ring != nil {
		return nil
	}
	ring, err := ringbuf.NewReader(t.coll.Maps["trace_ring"])
	if err != nil {
		return fmt.Errorf("xdp: ring of traces: %w", err)
	}
	if err := t.turn(1); err != nil {
		return errors.Join(err, ring.Close())
	}
	t.ring, t.done = ring, make(chan struct{})
	go t.read(ring, t.done)
	return nil
}

// turn switches the twins on or off.
func (t *tracer) turn(on uint32) error {
	if err := t.d.objs.TraceOn.Set(on); err != nil {
		return fmt.Errorf("xdp: set trace_on: %w", err)
	}
	return nil
}

// close ends all traces.
func (t *tracer) close() error {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.end()
	t.loading.Lock()
	defer t.loading.Unlock()
	if t.coll == nil {
		return nil
	}
	err := t.wants.unmap()
	t.coll.Close()
	return err
}

// end closes the traces that there are.
func (t *tracer) end() {
	t.mu.Lock()
	traces := t.traces
	t.mu.Unlock()
	for _, x := range traces {
		if x != nil {
			x.Close()
		}
	}
}
