package verifier

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// lacksPrefix begins the reason of a program that needs what the kernel lacks.
const lacksPrefix = "no "

// Reason says in one line why a program was refused: what the verifier's log ends
// with, before its figures, or the error. A helper that the kernel lacks is named.
func Reason(err error) string {
	var v *ebpf.VerifierError
	if !errors.As(err, &v) {
		line, _, _ := strings.Cut(err.Error(), "\n")
		if strings.Contains(line, "bpf_dynptr_from_skb") {
			return lacksPrefix + "kfunc bpf_dynptr_from_skb: Linux 6.4 brought it, 6.12 to tracepoints"
		}
		return line
	}
	for _, line := range slices.Backward(v.Log) {
		line = strings.TrimSpace(line)
		if line == "" || figures.MatchString(line) {
			continue
		}
		if lacks := noHelper.FindStringSubmatch(line); lacks != nil {
			return lacking(lacks[1])
		}
		if strings.Contains(line, "bpf_dynptr_from_skb is not allowed") {
			return lacksPrefix + "kfunc bpf_dynptr_from_skb at tracepoints: Linux 6.12 brought it"
		}
		return line
	}
	return v.Cause.Error()
}

var (
	figures  = regexp.MustCompile(`^(processed \d+ insns|verification time|stack depth|subprog \d+|peak_states)`)
	noHelper = regexp.MustCompile(`^(?:invalid func|unknown func) \w+#(\d+)$`)
)

// helperSince is which Linux brought helpers that the programs call and kernels from
// 5.10 on may lack. Source: Linux, include/uapi/linux/bpf.h of each release.
var helperSince = map[asm.BuiltinFunc]string{
	asm.FnLoop: "5.17", asm.FnXdpGetBuffLen: "5.18", asm.FnXdpLoadBytes: "5.18", asm.FnXdpStoreBytes: "5.18",
}

// lacking names the helper with this number.
func lacking(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		return lacksPrefix + "helper " + number
	}
	helper := asm.BuiltinFunc(n)
	text := lacksPrefix + "helper " + helperName(helper)
	if since := helperSince[helper]; since != "" {
		text += fmt.Sprintf(": Linux %s brought it", since)
	}
	return text
}

// helperName is that of C: "bpf_xdp_load_bytes" of "FnXdpLoadBytes".
func helperName(helper asm.BuiltinFunc) string {
	name := strings.TrimPrefix(helper.String(), "Fn")
	return "bpf" + capitals.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
}

var capitals = regexp.MustCompile(`[A-Z]`)

// Explain is err in one line, as an error of what this machine does not support, if a
// verifier refused a program; any other error is returned as it is.
func Explain(err error) error {
	var v *ebpf.VerifierError
	if !errors.As(err, &v) {
		return err
	}
	return fmt.Errorf("the kernel's verifier refuses a program: %s (plumb doctor --programs --logs DIR keeps its log): %w",
		Reason(err), errors.ErrUnsupported)
}
