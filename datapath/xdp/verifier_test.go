package xdp

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// complexity is what the verifier says of a program.
type complexity struct {
	Instructions int `json:"instructions"` // processed, all paths
	Stack        int `json:"stack_octets"` // of the program and its deepest function
}

// complexityFile is the record, by kernel release and program.
const complexityFile = "testdata/verifier.json"

var (
	processed  = regexp.MustCompile(`processed (\d+) insns`)
	stackDepth = regexp.MustCompile(`stack depth ([\d+]+)`)
)

// TestVerifier loads every program and compares what it costs the verifier with
// what is written down: more than a tenth more fails. Another kernel counts
// otherwise, so only the one of the record is compared. PLUMBLINE_RECORD=1
// writes the record anew.
func TestVerifier(t *testing.T) {
	got := map[string]complexity{}
	verify(t, loadUpf, "", got)
	verify(t, loadTraced, "", got)
	verify(t, loadSkb, "", got)
	verify(t, loadTracedSkb, "_tc", got) // whose programs are named as those of XDP are
	record := map[string]map[string]complexity{}
	if b, err := os.ReadFile(complexityFile); err == nil {
		if err := json.Unmarshal(b, &record); err != nil {
			t.Fatal(err)
		}
	}
	kernel := kernelRelease(t)
	if os.Getenv("PLUMBLINE_RECORD") != "" {
		record[kernel] = got
		writeRecord(t, record)
	}
	for name, c := range got {
		t.Logf("%s on Linux %s: %d instructions processed, %d octets of stack", name, kernel, c.Instructions, c.Stack)
		if want, ok := record[kernel][name]; ok && c.Instructions > want.Instructions*11/10 {
			t.Errorf("%s: %d instructions processed, was %d", name, c.Instructions, want.Instructions)
		}
		if c.Stack > 512 || c.Instructions == 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// verify loads the programs and notes what they cost, under their names and a suffix.
func verify(t *testing.T, load func() (*ebpf.CollectionSpec, error), suffix string, got map[string]complexity) {
	t.Helper()
	spec, err := load()
	if err != nil {
		t.Fatal(err)
	}
	// Without an endpoint the verifier would see no packet past the address.
	local := [maxEndpoints]uint32{1, 2}
	if err := spec.Variables["endpoint_ip4"].Set(local); err != nil {
		t.Fatal(err)
	}
	if err := spec.Variables["queue_max"].Set(uint32(queueMax)); err != nil {
		t.Fatal(err)
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{
		Programs: ebpf.ProgramOptions{LogLevel: ebpf.LogLevelStats},
	})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer coll.Close()
	for name, prog := range coll.Programs {
		got[name+suffix] = parseComplexity(t, prog.VerifierLog)
	}
}

func parseComplexity(t *testing.T, log string) complexity {
	t.Helper()
	p, s := processed.FindStringSubmatch(log), stackDepth.FindStringSubmatch(log)
	if p == nil || s == nil {
		t.Fatalf("verifier log without figures: %s", log)
	}
	c, deepest := complexity{}, 0
	c.Instructions, _ = strconv.Atoi(p[1])
	depths := strings.Split(s[1], "+") // of the program and of each function
	for i, part := range depths {
		n, _ := strconv.Atoi(part)
		if i == 0 {
			c.Stack = n
		} else {
			deepest = max(deepest, n)
		}
	}
	c.Stack += deepest
	return c
}

// kernelRelease returns major and minor, "6.18".
func kernelRelease(t *testing.T) string {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(unix.ByteSliceToString(u.Release[:]), ".", 3)
	return parts[0] + "." + parts[1]
}

func writeRecord(t *testing.T, record map[string]map[string]complexity) {
	t.Helper()
	b, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(complexityFile, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
