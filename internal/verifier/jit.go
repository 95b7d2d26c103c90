package verifier

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Compiled loads a program that passes every packet, and reports whether the kernel made
// machine code of it. The sysctl net.core.bpf_jit_enable says so in the initial network
// namespace only: the others, those of containers among them, do not have it.
//
// Errors: that of the load, and one if the kernel may not say what it made.
func Compiled() (is bool, err error) {
	const pass = 2 // XDP_PASS of linux/bpf.h
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "plumb_jit",
		Type:         ebpf.XDP,
		License:      "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()},
	})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, prog.Close()) }()
	info, err := prog.Info()
	if err != nil {
		return false, err
	}
	// Both sizes are 0 for who may not look; that of the machine code also without a JIT.
	if _, err := info.TranslatedSize(); err != nil {
		return false, err
	}
	octets, err := info.JitedSize()
	if errors.Is(err, ebpf.ErrNotSupported) {
		return false, nil
	}
	return octets > 0, err
}
