package xdp

import (
	"errors"
	"maps"
	"sync"

	"github.com/cilium/ebpf"
)

// loadAtOnce makes the tables of spec, those of shared apart, and has the verifier
// look at the programs at the same time, each on a CPU of its own: it takes some
// 100 ms for each.
func loadAtOnce(spec *ebpf.CollectionSpec, shared map[string]*ebpf.Map) (*ebpf.Collection, error) {
	tables := spec.Copy()
	tables.Programs = nil
	coll, err := ebpf.NewCollectionWithOptions(tables, ebpf.CollectionOptions{MapReplacements: shared})
	if err != nil {
		return nil, err
	}
	var (
		mu       sync.Mutex
		programs = map[string]*ebpf.Program{}
		errs     []error
		done     sync.WaitGroup
	)
	for name := range spec.Programs {
		done.Go(func() {
			p, err := loadOne(spec, name, coll.Maps)
			mu.Lock()
			defer mu.Unlock()
			programs[name], errs = p, append(errs, err)
		})
	}
	done.Wait()
	maps.DeleteFunc(programs, func(_ string, p *ebpf.Program) bool { return p == nil })
	coll.Programs = programs
	if err := errors.Join(errs...); err != nil {
		coll.Close()
		return nil, err
	}
	return coll, nil
}

// loadOne loads one program over tables that there are.
func loadOne(spec *ebpf.CollectionSpec, name string, tables map[string]*ebpf.Map) (*ebpf.Program, error) {
	one := spec.Copy()
	one.Programs = map[string]*ebpf.ProgramSpec{name: one.Programs[name]}
	coll, err := ebpf.NewCollectionWithOptions(one, ebpf.CollectionOptions{MapReplacements: tables})
	if err != nil {
		return nil, err
	}
	defer coll.Close() // which has references of its own to the tables
	return coll.DetachProgram(name), nil
}
