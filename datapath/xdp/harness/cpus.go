package harness

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Load is what [Harness.Load] runs.
type Load struct {
	Program *ebpf.Program
	Packet  Packet
	Runs    int           // on each CPU
	Tick    time.Duration // how far the clock goes on with each run; see [OpenClock]
}

// CPUs returns up to two CPUs that this process may run on.
func CPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("harness: CPUs: %w", err)
	}
	var cpus []int
	for cpu := 0; cpu < 8*len(set)*8 && len(cpus) < 2; cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Load runs the program on all of these CPUs at once, each with packets of its own.
// What becomes of them the program's counters say.
func (h *Harness) Load(l Load, cpus []int) error {
	if err := h.set(l.Packet); err != nil {
		return err
	}
	if err := h.objs.Tick.Set(uint64(l.Tick)); err != nil {
		return fmt.Errorf("harness: set tick: %w", err)
	}
	if err := h.objs.Target.Put(uint32(0), l.Program); err != nil {
		return fmt.Errorf("harness: program under test: %w", err)
	}
	var (
		all   sync.WaitGroup
		start = make(chan struct{})
		errs  = make([]error, len(cpus))
	)
	for i, cpu := range cpus {
		all.Go(func() {
			// The thread ends with the goroutine, as it is not unlocked: nothing else
			// runs on it later.
			runtime.LockOSThread()
			var set unix.CPUSet
			set.Set(cpu)
			if errs[i] = unix.SchedSetaffinity(0, &set); errs[i] != nil {
				return
			}
			<-start
			_, _, errs[i] = h.objs.Restore.Benchmark(l.Packet.Frame, l.Runs, nil)
		})
	}
	close(start)
	all.Wait()
	if err := errors.Join(append(errs, h.objs.Tick.Set(uint64(0)))...); err != nil {
		return fmt.Errorf("harness: run on CPUs %v: %w", cpus, err)
	}
	return nil
}
