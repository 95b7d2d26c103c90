package topology

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// TestBedTakesTurns attaches the bed where another program is linked already,
// and wants that one back afterwards.
func TestBedTakesTurns(t *testing.T) {
	bed, err := New(Config{Name: "plt-turns"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2 /* XDP_PASS */), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		t.Fatal(err)
	}
	own, _ := info.ID()
	for _, p := range []Port{bed.N3.UPF, bed.N6.UPF} {
		l := mustAttach(t, p, program)
		defer l.Close()
	}
	assertProgram := func(want bool) {
		t.Helper()
		for _, p := range []Port{bed.N3.UPF, bed.N6.UPF} {
			if id, err := p.XDPProgram(); err != nil || (id == own) != want {
				t.Errorf("%s: got program %d, %v; is it %d: want %v", p.Device, id, err, own, want)
			}
		}
	}
	for range 2 {
		assertProgram(true)
		b, err := bed.AttachBed()
		if err != nil {
			t.Fatal(err)
		}
		assertProgram(false)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	assertProgram(true)
}

func mustAttach(t *testing.T, p Port, program *ebpf.Program) link.Link {
	t.Helper()
	l, err := p.AttachXDP(program)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
