package verifier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Frame is how verifiers up to Linux 6.6 round the stack of a function up, in octets;
// newer ones take 16. Source: Linux 6.1, kernel/bpf/verifier.c, check_max_stack_depth.
const Frame = 32

// MaxCalls is how many frames there may be. Source: Linux, include/linux/bpf_verifier.h,
// MAX_CALL_FRAMES.
const MaxCalls = 8

// Chain is a chain of calls and what it needs of the stack.
type Chain struct {
	Calls  []string // the program and the functions, each with its octets
	Octets int      // each frame rounded up to Frame
}

// Stack returns the chain of calls of the program that needs the most stack, found in its
// instructions. It is an upper bound of what an old verifier finds: functions that
// the verifier does not reach count, too.
func Stack(p *ebpf.ProgramSpec) (Chain, error) {
	var (
		functions = map[string]*function{}
		entry, f  *function
	)
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		if name := ins.Symbol(); name != "" || f == nil {
			f = &function{name: name, pointer: map[asm.Register]bool{}}
			functions[name] = f
			if entry == nil {
				entry = f
			}
		}
		f.step(ins)
	}
	if entry == nil {
		return Chain{}, fmt.Errorf("%s has no instructions", p.Name)
	}
	return deepest(functions, entry.name, nil)
}

// function is what is read of one.
type function struct {
	name    string
	octets  int
	calls   []string
	pointer map[asm.Register]bool // registers that hold the frame pointer
}

// step notes what the instruction does with the stack, and whom it calls.
func (f *function) step(ins *asm.Instruction) {
	switch {
	case ins.IsFunctionCall():
		f.calls = append(f.calls, ins.Reference())
	case ins.OpCode.Class().IsStore() && ins.Dst == asm.RFP, ins.OpCode.Class().IsLoad() && ins.Src == asm.RFP:
		f.use(int(ins.Offset))
	case ins.OpCode.ALUOp() == asm.Mov && ins.OpCode.Source() == asm.RegSource && ins.OpCode.Class() == asm.ALU64Class:
		f.pointer[ins.Dst] = ins.Src == asm.RFP
	case ins.OpCode.ALUOp() == asm.Add && ins.OpCode.Source() == asm.ImmSource && ins.OpCode.Class() == asm.ALU64Class && f.pointer[ins.Dst]:
		f.use(int(ins.Constant))
		f.pointer[ins.Dst] = false
	case ins.OpCode.Class() == asm.ALU64Class || ins.OpCode.Class() == asm.ALUClass:
		f.pointer[ins.Dst] = false
	}
}

func (f *function) use(offset int) { f.octets = max(f.octets, -offset) }

// deepest returns the chain that needs most from the function on.
func deepest(functions map[string]*function, name string, above []string) (Chain, error) {
	f := functions[name]
	if f == nil {
		return Chain{}, fmt.Errorf("%s calls %s, which is not there", strings.Join(above, ", "), name)
	}
	if slices.Contains(above, name) {
		return Chain{}, fmt.Errorf("%s calls itself", name)
	}
	above = append(above[:len(above):len(above)], name)
	var below Chain
	for _, call := range f.calls {
		c, err := deepest(functions, call, above)
		if err != nil {
			return Chain{}, err
		}
		if c.Octets > below.Octets {
			below = c
		}
	}
	frame := max(f.octets, 1)
	frame = (frame + Frame - 1) / Frame * Frame
	return Chain{
		Calls:  append([]string{fmt.Sprintf("%s %d", name, f.octets)}, below.Calls...),
		Octets: frame + below.Octets,
	}, nil
}
