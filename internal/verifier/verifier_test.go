package verifier

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// TestShrink: a ring is a page of any machine, other tables take no more than is needed.
func TestShrink(t *testing.T) {
	for _, tc := range []struct {
		kind             ebpf.MapType
		page, have, want uint32
	}{
		{ebpf.RingBuf, 4096, 4096, 4096}, {ebpf.RingBuf, 16384, 4096, 16384}, {ebpf.RingBuf, 65536, 1 << 20, 1 << 20},
		{ebpf.Array, 65536, 1 << 20, maxEntries}, {ebpf.Array, 65536, 2, 2},
	} {
		m := &ebpf.MapSpec{Type: tc.kind, MaxEntries: tc.have}
		if shrink(m, int(tc.page)); m.MaxEntries != tc.want {
			t.Errorf("%+v: got %d", tc, m.MaxEntries)
		}
	}
}

// TestParseCost reads logs as kernels write them.
func TestParseCost(t *testing.T) {
	for _, tc := range []struct {
		kernel, log string
		want        Cost
	}{
		{
			"6.1",
			"verification time 11122 usec\nstack depth 16\nprocessed 57 insns (limit 1000000) max_states_per_insn 0 total_states 4 peak_states 4 mark_read 3\n",
			Cost{Instructions: 57, Stack: 16},
		},
		{
			"6.18",
			"verification time 352 usec\nstack depth 280+72+8+96\nprocessed 409485 insns (limit 1000000) max_states_per_insn 9 total_states 4 peak_states 4 mark_read 3\n",
			Cost{Instructions: 409485, Stack: 376},
		},
		{
			"7.3",
			"verification time 7030 usec\nstack depth max 16\nsubprog 0 (spread_enqueued) main insns_self 46 insns_total 46 stack 8\n" +
				"processed 46 insns (limit 1000000) max_states_per_insn 0 total_states 3 peak_states 3 mark_read 0\n",
			Cost{Instructions: 46, Stack: 16},
		},
	} {
		got, err := parseCost(tc.log)
		if err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v, want %+v", tc.kernel, got, err, tc.want)
		}
	}
	if got, err := parseCost("processed insns"); err == nil {
		t.Errorf("a log without figures: got %+v, no error", got)
	}
}

// TestReason takes the line that decided out of a log.
func TestReason(t *testing.T) {
	err := error(&ebpf.VerifierError{Cause: errors.New("permission denied"), Log: []string{
		"invalid access to map value, value_size=4096 off=65535 size=3392",
		"R3 max value is outside of the allowed memory range",
		"verification time 11122 usec", "stack depth 16", "processed 57 insns (limit 1000000) max_states_per_insn 0",
	}})
	if got, want := Reason(err), "R3 max value is outside of the allowed memory range"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	err = &ebpf.VerifierError{Cause: errors.New("invalid argument"), Log: []string{"; return bpf_xdp_load_bytes(md, at, to, octets);", "invalid func unknown#189", ""}}
	if got, want := Reason(err), "no helper bpf_xdp_load_bytes: Linux 5.18 brought it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Reason(errors.New("kfunc not supported\nmore")), "kfunc not supported"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStack adds up frames along calls, each rounded up.
func TestStack(t *testing.T) {
	store := func(offset int16) asm.Instruction { return asm.StoreMem(asm.RFP, offset, asm.R1, asm.DWord) }
	call := asm.Call.Label
	p := &ebpf.ProgramSpec{Name: "main", Instructions: asm.Instructions{
		store(-40).WithSymbol("main"), call("few"), call("many"), asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("few"), asm.Return(),
		asm.Mov.Reg(asm.R1, asm.RFP).WithSymbol("many"), asm.Add.Imm(asm.R1, -65), call("few"), asm.Return(),
	}}
	got, err := Stack(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := 64 + 96 + 32; got.Octets != want || len(got.Calls) != 3 {
		t.Errorf("got %d octets by %q, want %d by main, many, few", got.Octets, got.Calls, want)
	}
	p.Instructions = asm.Instructions{call("main").WithSymbol("main"), asm.Return()}
	if got, err := Stack(p); err == nil {
		t.Errorf("recursion: got %+v, no error", got)
	}
}
