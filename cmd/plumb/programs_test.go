package main

import (
	"math/bits"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	upfcmd "github.com/plumbline-upf/plumbline/internal/cli/upf"
	"github.com/plumbline-upf/plumbline/internal/kernels"
	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// TestStack finds the deepest chain of calls in each program: by the frames of Linux 6.1,
// which are the largest, it has to fit.
func TestStack(t *testing.T) {
	for _, o := range upfcmd.Objects() {
		spec, err := o.Load()
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range spec.Programs {
			chain, err := verifier.Stack(p)
			if err != nil {
				t.Fatalf("%s: %s: %v", o.Name, name, err)
			}
			t.Logf("%s: %s: %d octets: %s", o.Name, name, chain.Octets, strings.Join(chain.Calls, ", "))
			if chain.Octets > verifier.MaxStack || len(chain.Calls) > verifier.MaxCalls {
				t.Errorf("%s: %s: %d octets of stack in %d frames, want at most %d in %d: %s",
					o.Name, name, chain.Octets, len(chain.Calls), verifier.MaxStack, verifier.MaxCalls, strings.Join(chain.Calls, ", "))
			}
		}
	}
}

// TestForwards: of the types that an object has by name alone there may be one. clang 19
// writes several in an order that depends on the machine (bpf/include/skb.h).
func TestForwards(t *testing.T) {
	for _, o := range upfcmd.Objects() {
		spec, err := o.Load()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for typ, err := range spec.Types.All() {
			if err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			if f, ok := typ.(*btf.Fwd); ok {
				names = append(names, f.Name)
			}
		}
		if len(names) > 1 {
			t.Errorf("%s: only names of %s, want them whole but for one", o.Name, strings.Join(names, ", "))
		}
	}
}

// TestRings: a ring is as large as the kernel takes on each architecture: a power of two,
// and of whole pages, which have up to 64 KiB.
func TestRings(t *testing.T) {
	const largestPage = 1 << 16
	for _, o := range upfcmd.Objects() {
		spec, err := o.Load()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spec.Maps {
			if n := m.MaxEntries; m.Type == ebpf.RingBuf && (n%largestPage != 0 || bits.OnesCount32(n) != 1) {
				t.Errorf("%s: ring %s has %d octets", o.Name, m.Name, n)
			}
		}
	}
}

// TestPrograms loads every program on this kernel, and compares what it costs the verifier
// with what is written down of a kernel of this series, if there is one.
func TestPrograms(t *testing.T) {
	results, err := kernels.Read("../../kernels/" + kernels.ResultsFile)
	if err != nil {
		t.Fatal(err)
	}
	var got []verifier.Program
	for _, o := range upfcmd.Objects() {
		tried, err := o.Try()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tried...)
	}
	for _, p := range got {
		if p.Refused == "" && p.Instructions == 0 {
			t.Errorf("%s: %s: a log without figures: %s", p.Object, p.Name, strings.Join(p.Log, "; "))
		}
	}
	for _, change := range kernels.Compare(results.Series(verifier.KernelRelease(), runtime.GOARCH), verifier.KernelRelease(), got) {
		t.Error(change)
	}
}
