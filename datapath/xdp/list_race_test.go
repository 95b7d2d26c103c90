package xdp

import (
	"context"
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestListChangesUnderTraffic changes a list whose flows are in the flow cache
// again and again while packets of one flow meet it on another CPU. What that CPU
// remembers afterwards is of the new list, whatever it has seen of the change.
func TestListChangesUnderTraffic(t *testing.T) {
	const rounds, pdrs = 500, 17
	b := openConfig(t, Config{MaxSessions: 64, MaxListedPDRs: 1 << 17}, bedPorts())
	_, down := conformance.BenchFrames()
	binary.BigEndian.PutUint32(down[downAddressAt:], benchAddress)
	versions := [2]*api.Session{benchList(pdrs), benchList(pdrs)}
	for i, s := range versions {
		for _, r := range s.Rules {
			r.Forward.OuterHeaderCreation.Teid = uint32(0xa0 + i)
		}
	}
	begin, ended := make(chan *atomic.Bool), make(chan uint32)
	go sendFrom(t, lastCPU(t), b, down, begin, ended)
	defer close(begin)
	slot := benchAddress & b.ues.mask
	for round := range rounds {
		s, applied := versions[round%2], &atomic.Bool{}
		begin <- applied
		if err := b.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
			t.Fatal(err)
		}
		applied.Store(true)
		<-ended
		if b.ues.slots[slot].Ctl&ruleList == 0 {
			t.Fatal("no list")
		}
		// What met the change waits in the ring for nobody.
		atomic.StoreUint32(&b.queueOf(ruleByUE, slot).Packets, 0)
		begin <- applied
		if got, want := <-ended, uint32(0xa0+round%2); got != want {
			t.Fatalf("round %d: TEID %#x, want %#x: by a list of before", round, got, want)
		}
	}
}

// lastCPU returns the last one on which this process may run.
func lastCPU(t *testing.T) int {
	t.Helper()
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	for cpu := len(may) * 64; cpu >= 0; cpu-- {
		if may.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no CPU")
	return 0
}

// sendFrom lets a frame come from N6 on one CPU, again and again until what it is
// told of is so. It says with what TEID the last one left; 0: it did not.
func sendFrom(t *testing.T, cpu int, b *bed, frame []byte, begin <-chan *atomic.Bool, ended chan<- uint32) {
	runtime.LockOSThread() // for good: the thread ends with its affinity
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Error(err)
	}
	const teidAt = 14 + 20 + 8 + 4
	run := ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+80)}
	for until := range begin {
		for done := false; !done; {
			done = until.Load()
			run.DataOut = run.DataOut[:cap(run.DataOut)]
			action, err := b.objs.UpfN6Xdp.Run(&run)
			if err != nil {
				t.Error(err)
			}
			if action != xdpRedirect {
				clear(run.DataOut[:teidAt+4])
			}
		}
		ended <- binary.BigEndian.Uint32(run.DataOut[teidAt:])
	}
}
