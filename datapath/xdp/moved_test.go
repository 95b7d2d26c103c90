package xdp

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
)

// slowCounts returns the counters that a frame in the slow path moves: not those
// of packets that have waited before and are given up meanwhile, nor that of its
// copies.
func slowCounts(s *slowPath) []uint64 {
	n := make([]uint64, len(s.counts))
	for i := range n {
		if r := datapath.Reason(i); r != datapath.DropBufferAge && r != datapath.DropBufferEnd && r != datapath.DropCopy {
			n[i] = s.counts[i].Load()
		}
	}
	return n
}

func (b *bed) programCounts(t testing.TB) []uint64 {
	t.Helper()
	n := make([]uint64, len(datapath.Reasons())+1)
	cpus := ebpf.MustPossibleCPU()
	keys, perCPU := make([]uint32, len(n)), make([]uint64, len(n)*cpus)
	var cursor ebpf.MapBatchCursor
	if read, err := b.objs.Counts.BatchLookup(&cursor, keys, perCPU, nil); read != len(n) {
		t.Fatalf("%d of %d counters: %v", read, len(n), err)
	}
	for i, key := range keys {
		for _, v := range perCPU[i*cpus : (i+1)*cpus] {
			n[key] += v
		}
	}
	return n
}

// moved returns the one reason whose counter went up by one, or ReasonNone.
func moved(t testing.TB, before, after []uint64) datapath.Reason {
	t.Helper()
	switch all := allMoved(t, before, after); len(all) {
	case 0:
		return datapath.ReasonNone
	case 1:
		return all[0]
	default:
		t.Fatalf("counters of %v moved", all)
	}
	return datapath.ReasonNone
}

// allMoved returns the reasons whose counters went up, each by one.
func allMoved(t testing.TB, before, after []uint64) (all []datapath.Reason) {
	t.Helper()
	for i := range after {
		switch {
		case after[i] == before[i]:
		case after[i] == before[i]+1:
			all = append(all, datapath.Reason(i))
		default:
			t.Fatalf("counter %v went from %d to %d", datapath.Reason(i), before[i], after[i])
		}
	}
	return all
}
