package kernels

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plumbline/verifier"
)

// What `make test` boots, and the parts that are run.
var quick = map[string][]string{
	"6.1":  {"programs", "auto", "xdp"},
	"6.12": {"programs"},
}

const resultsFile = "testdata/results.json"

// TestKernels boots kernels and runs the job in each. PLUMBLINE_KERNELS=all, or names
// of `scripts/kernel list` with commas between, runs the whole job, or of it
// PLUMBLINE_PARTS; PLUMBLINE_RECORD=1 writes down what came of it, and the table.
func TestKernels(t *testing.T) {
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	todo := quick
	if names := os.Getenv("PLUMBLINE_KERNELS"); names != "" {
		todo = map[string][]string{}
		for _, name := range strings.Split(names, ",") {
			todo[name] = allParts()
		}
		if names == "all" {
			todo = map[string][]string{}
			for _, name := range list(t) {
				todo[name] = allParts()
			}
		}
	}
	files := build(t, slices.ContainsFunc(slices.Collect(maps.Values(todo)), func(p []string) bool { return slices.Contains(p, "conformance_tc") }))
	for _, name := range list(t) {
		if parts := todo[name]; parts != nil {
			t.Run(name, func(t *testing.T) {
				if len(todo) == len(quick) && os.Getenv("PLUMBLINE_RECORD") == "" {
					t.Parallel() // a verifier takes one CPU
				}
				testKernel(t, name, parts, files)
			})
		}
	}
}

func testKernel(t *testing.T, name string, parts, files []string) {
	result := boot(t, name, parts, files)
	for _, part := range parts {
		o, ran := result.Parts[part]
		switch {
		case !ran:
			t.Errorf("%s: was not run to its end", part)
		case !o.OK && Lacks[name][part] == "":
			t.Errorf("%s: failed: %s", part, o.Said)
		}
	}
	compare(t, name, result)
	if os.Getenv("PLUMBLINE_RECORD") != "" {
		record(t, name, result)
	}
}

// compare holds what programs cost the verifier against the record: more than a tenth more
// fails, as what was loaded and is not any more does.
func compare(t *testing.T, name string, got *Result) {
	t.Helper()
	before := read(t)[name]
	if before == nil || os.Getenv("PLUMBLINE_RECORD") != "" {
		return
	}
	was := map[string]verifier.Program{}
	for _, p := range before.Programs {
		was[p.Object+"/"+p.Name] = p
	}
	for _, p := range got.Programs {
		b, known := was[p.Object+"/"+p.Name]
		switch {
		case p.Refused != "" && (!known || b.Refused == ""):
			t.Errorf("%s/%s: refused: %s", p.Object, p.Name, p.Refused)
		case known && b.Instructions > 0 && p.Instructions > b.Instructions*11/10:
			t.Errorf("%s/%s: %d instructions processed, was %d", p.Object, p.Name, p.Instructions, b.Instructions)
		}
	}
}

func allParts() []string {
	if some := os.Getenv("PLUMBLINE_PARTS"); some != "" {
		return strings.Split(some, ",")
	}
	names := make([]string, len(Parts))
	for i, p := range Parts {
		names[i] = p.Name
	}
	return names
}

// list returns the names of the kernels of amd64, the oldest first.
func list(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("../scripts/kernel", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); f[3] == "amd64" {
			names = append(names, f[0])
		}
	}
	return names
}

// build makes the files that the job runs, which need no library.
func build(t *testing.T, conformance bool) []string {
	t.Helper()
	dir := t.TempDir()
	plumb, test := filepath.Join(dir, "plumb"), filepath.Join(dir, "xdp.test")
	commands := [][]string{{"build", "-trimpath", "-o", plumb, "../cmd/plumb"}}
	files := []string{plumb}
	if conformance {
		commands = append(commands, []string{"test", "-c", "-o", test, "../datapath/xdp"})
		files = append(files, test)
	}
	for _, args := range commands {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return files
}

// boot runs the parts in the kernel. The console is kept in a file that the test names.
func boot(t *testing.T, name string, parts, files []string) *Result {
	t.Helper()
	job, err := os.ReadFile("testdata/job.sh")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(script, append(fmt.Appendf(nil, "PARTS=%q\n", strings.Join(parts, " ")), job...), 0o600); err != nil {
		t.Fatal(err)
	}
	console := filepath.Join(os.TempDir(), "plumb-kernel-"+name+".log")
	cmd := exec.Command("../scripts/kernel", append([]string{"boot", name, script}, files...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("KERNEL_SECONDS=%d", 240*(1+len(parts)/2)))
	started := time.Now()
	var logs strings.Builder
	cmd.Stderr = &logs
	out, err := cmd.Output()
	if err := os.WriteFile(console, out, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v in all, console in %s", time.Since(started).Round(time.Second), console)
	if err != nil {
		t.Fatalf("boot: %v\n%s\n%s", err, &logs, end(out))
	}
	return parse(t, string(out))
}

// end is the end of a console.
func end(out []byte) []byte { return out[max(0, len(out)-2000):] }

var (
	began   = regexp.MustCompile(`^part: (\w+)$`)
	ended   = regexp.MustCompile(`^part ends: (\w+): exit code (\d+), (\d+) s$`)
	release = regexp.MustCompile(`^kernel: (\S+)$`)
	passed  = regexp.MustCompile(`^passed (\d+), failed (\d+), skipped \d+$`)
	chosen  = regexp.MustCompile(`^datapath=(\w+)$`)
)

// parse reads a console.
func parse(t *testing.T, console string) *Result {
	t.Helper()
	r := &Result{Date: time.Now().UTC().Format(time.DateOnly), Commit: commit(), Parts: map[string]Outcome{}}
	part, said := "", ""
	var text strings.Builder
	lines := bufio.NewScanner(strings.NewReader(console))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		switch {
		case r.Release == "" && release.MatchString(line):
			r.Release = release.FindStringSubmatch(line)[1]
		case began.MatchString(line):
			part, said = began.FindStringSubmatch(line)[1], ""
			text.Reset()
		case ended.MatchString(line):
			end := ended.FindStringSubmatch(line)
			r.Parts[end[1]] = Outcome{OK: end[2] == "0", Said: said}
			if end[1] == "programs" {
				r.Programs = programs(t, text.String())
			}
			if o := r.Parts[end[1]]; !o.OK {
				t.Logf("%s: exit code %s\n%s", end[1], end[2], endOf(text.String()))
			}
		default:
			fmt.Fprintln(&text, line)
			if m := passed.FindStringSubmatch(line); m != nil {
				said = m[1] + " of " + m[1]
			}
			if m := chosen.FindStringSubmatch(line); m != nil && part == "auto" {
				said = "takes `" + m[1] + "`"
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// endOf is the end of what a part that failed has printed, without JSON.
func endOf(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return "(JSON)"
	}
	return text[max(0, len(text)-3000):]
}

func programs(t *testing.T, text string) []verifier.Program {
	t.Helper()
	var report struct{ Programs []verifier.Program }
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&report); err != nil {
		t.Errorf("programs: %v: %s", err, endOf(text))
	}
	return report.Programs
}

func commit() string {
	out, err := exec.Command("git", "-c", "safe.directory=*", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T) map[string]*Result {
	t.Helper()
	results := map[string]*Result{}
	b, err := os.ReadFile(resultsFile)
	if err == nil {
		err = json.Unmarshal(b, &results)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return results
}

// record writes the result beside the others. Parts that were not run now stay.
func record(t *testing.T, name string, r *Result) {
	t.Helper()
	results := read(t)
	results[name] = r
	b, err := json.MarshalIndent(results, "", " ")
	if err == nil {
		err = os.WriteFile(resultsFile, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	document(t, true)
}

// document makes docs/kernels.md what the results say, or asks whether it is.
func document(t *testing.T, write bool) {
	t.Helper()
	const file, begin, end = "../docs/kernels.md", "<!-- made by make kernels -->\n", "<!-- end -->\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s: no lines %q and %q", file, begin, end)
	}
	want := head + begin + Table(read(t), list(t)) + end + tail
	switch {
	case want == string(b):
	case write:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what %s says: make kernels makes it", file, resultsFile)
	}
}

// TestDocument holds docs/kernels.md to the results, and the results to what is promised:
// from 6.1 on nothing fails but for what the kernel lacks.
func TestDocument(t *testing.T) {
	document(t, false)
	for name, r := range read(t) {
		for part, o := range r.Parts {
			if !o.OK && Lacks[name][part] == "" {
				t.Errorf("Linux %s: %s failed: %s", r.Release, part, o.Said)
			}
		}
	}
}
