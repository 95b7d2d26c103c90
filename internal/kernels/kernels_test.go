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

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// What `make test` boots, and the parts that are run.
var quick = map[string][]string{
	"6.1":  {"programs", "auto", "xdp", CountPrograms},
	"6.12": {"programs"},
}

// TestKernels boots kernels and runs the job in each. PLUMBLINE_KERNELS=all, or names
// of `scripts/kernel list` with commas between, runs the whole job, or of it
// PLUMBLINE_PARTS (those of [Parts], count_programs and count_frames); with PLUMBLINE_RECORD=1 the results are written down, and the table.
func TestKernels(t *testing.T) {
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	all := list(t)
	todo := quick
	if names := os.Getenv("PLUMBLINE_KERNELS"); names != "" {
		todo = map[string][]string{}
		for _, name := range strings.Split(names, ",") {
			todo[name] = allParts()
		}
		if names == "all" {
			todo = map[string][]string{}
			for _, k := range all {
				todo[k.name] = allParts()
			}
		}
	}
	files := map[string][]string{}
	for _, k := range all {
		parts := todo[k.name]
		if parts == nil {
			continue
		}
		if files[k.architecture] == nil {
			files[k.architecture] = build(t, k.architecture, needTests(todo))
		}
		t.Run(k.name, func(t *testing.T) {
			if os.Getenv("PLUMBLINE_KERNELS") == "" {
				t.Parallel() // a verifier takes one CPU; and nothing is recorded
			}
			testKernel(t, k, parts, files[k.architecture])
		})
	}
}

func needTests(todo map[string][]string) bool {
	for _, parts := range todo {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "conformance") || Counts(p) }) {
			return true
		}
	}
	return false
}

func testKernel(t *testing.T, k kernel, parts, files []string) {
	name := k.name
	if k.architecture != amd64 { // its clock is another
		parts = slices.DeleteFunc(slices.Clone(parts), Counts)
	}
	result := &Result{Parts: map[string]Outcome{}}
	if most := slices.DeleteFunc(slices.Clone(parts), Counts); len(most) > 0 {
		result = boot(t, k, most, files)
	}
	if counting := slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return !Counts(p) }); len(counting) > 0 {
		counted := boot(t, k, counting, files)
		maps.Copy(counted.Parts, result.Parts)
		counted.Programs = result.Programs
		result = counted
	}
	for _, part := range parts {
		o, ran := result.Parts[part]
		switch {
		case !ran:
			t.Errorf("%s: was not run to its end", part)
		case !o.OK && Lacks[name][part] == "":
			t.Errorf("%s: failed: %s", part, o.Said)
		}
	}
	if os.Getenv("PLUMBLINE_RECORD") != "" && os.Getenv("PLUMBLINE_KERNELS") != "" {
		record(t, name, result)
		return
	}
	before := read(t)[name]
	for _, worse := range Compare(before, result.Release, result.Programs) {
		t.Error(worse)
	}
	if before != nil && before.Instructions != nil && result.Instructions != nil {
		for _, more := range result.Instructions.MoreThan(before.Instructions, before.Release == result.Release) {
			t.Error(more)
		}
	}
}

func allParts() []string {
	if some := os.Getenv("PLUMBLINE_PARTS"); some != "" {
		return strings.Split(some, ",")
	}
	var names []string
	for _, p := range Parts {
		names = append(names, p.Name)
	}
	return append(names, CountPrograms, CountFrames)
}

// kernel is one of scripts/kernel.
type kernel struct{ name, architecture string }

// list returns the kernels, the oldest of each architecture first.
func list(t *testing.T) []kernel {
	t.Helper()
	out, err := exec.Command("../../scripts/kernel", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []kernel
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 5 {
			all = append(all, kernel{name: f[0], architecture: f[4]})
		}
	}
	if len(all) < len(quick) {
		t.Fatalf("scripts/kernel list: %q", out)
	}
	return all
}

// build makes the files that the job runs, which need no library.
func build(t *testing.T, architecture string, conformance bool) []string {
	t.Helper()
	dir := t.TempDir()
	plumb, test := filepath.Join(dir, "plumb"), filepath.Join(dir, "xdp.test")
	commands := [][]string{{"build", "-trimpath", "-o", plumb, "../../cmd/plumb"}}
	files := []string{plumb}
	if conformance {
		commands = append(commands, []string{"test", "-c", "-o", test, "../../datapath/xdp"})
		files = append(files, test)
	}
	for _, args := range commands {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+architecture)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return files
}

// boot runs the parts in the kernel, and once more if a CPU of the emulated machine was
// stuck for two minutes, which was seen once on 6.1, cause unknown.
func boot(t *testing.T, k kernel, parts, files []string) *Result {
	t.Helper()
	r := bootOnce(t, k, parts, files, true)
	if r == nil {
		r = bootOnce(t, k, parts, files, false)
	}
	return r
}

// bootOnce returns nil if a CPU was stuck and again allows another boot. The console is kept in a
// file that the test names.
func bootOnce(t *testing.T, k kernel, parts, files []string, again bool) *Result {
	t.Helper()
	name := k.name
	job, err := os.ReadFile("testdata/job.sh")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(script, append(fmt.Appendf(nil, "PARTS=%q\n", strings.Join(parts, " ")), job...), 0o600); err != nil {
		t.Fatal(err)
	}
	console := filepath.Join("../../out", "kernel-"+name+".log")
	if err := os.MkdirAll("../../out", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../scripts/kernel", append([]string{"boot", name, script}, files...)...)
	seconds := 480 * (1 + len(parts)/2)
	if k.architecture != amd64 {
		seconds *= 3
	}
	cmd.Env = append(os.Environ(), fmt.Sprintf("KERNEL_SECONDS=%d", seconds))
	if Counts(parts[0]) {
		console = filepath.Join("../../out", "kernel-"+name+"-count.log")
		cmd.Env = append(cmd.Env, "KERNEL_COUNT=1")
	}
	started := time.Now()
	var logs strings.Builder
	cmd.Stderr = &logs
	out, err := cmd.Output()
	if err := os.WriteFile(console, out, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v in all, console in %s", time.Since(started).Round(time.Second), console)
	if err != nil && again && strings.Contains(string(out), "soft lockup") {
		t.Logf("a CPU was stuck: booted again\n%s", end(out))
		return nil
	}
	if err != nil {
		t.Fatalf("boot: %v\n%s\n%s", err, &logs, end(out))
	}
	r := parse(t, string(out))
	if k.architecture != amd64 {
		r.Architecture = k.architecture
	}
	return r
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
			switch end[1] {
			case "programs":
				r.Programs = programs(t, text.String())
			case CountPrograms:
				r.counted().Programs = countedPrograms(t, text.String())
			case CountFrames:
				r.counted().Frames = countedFrames(t, text.String())
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

func read(t *testing.T) Results {
	t.Helper()
	results, err := Read(ResultsFile)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// record writes the result beside those of other kernels.
func record(t *testing.T, name string, r *Result) {
	t.Helper()
	results := read(t)
	r.Keep(results[name])
	results[name] = r
	b, err := json.MarshalIndent(results, "", " ")
	if err == nil {
		err = os.WriteFile(ResultsFile, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	document(t, true)
}

// document makes docs/kernels.md what the results say, or asks whether it is.
func document(t *testing.T, write bool) {
	t.Helper()
	const file = "../../docs/kernels.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range list(t) {
		names = append(names, k.name)
	}
	want := string(b)
	for begin, table := range map[string]string{
		"<!-- made by make kernels -->\n":    Table(read(t), names),
		"<!-- counted by make kernels -->\n": instructionsTable(read(t), names),
	} {
		const end = "<!-- end -->\n"
		head, rest, ok := strings.Cut(want, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s: no lines %q and %q", file, begin, end)
		}
		want = head + begin + table + end + tail
	}
	switch {
	case want == string(b):
	case write:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what %s says: make kernels makes it", file, ResultsFile)
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

// TestKeep: what is not run again stays with the commit that it was of.
func TestKeep(t *testing.T) {
	r := &Result{Date: "2", Commit: "b", Parts: map[string]Outcome{"xdp": {OK: true}}}
	r.Keep(&Result{Date: "1", Commit: "a", Programs: []verifier.Program{{Name: "p"}}, Parts: map[string]Outcome{
		"xdp": {}, "tc": {OK: true, Said: "s"}, "tun": {Of: "0, z"},
	}})
	want := map[string]Outcome{"xdp": {OK: true}, "tc": {OK: true, Said: "s", Of: "1, a"}, "tun": {Of: "0, z"}}
	if !maps.Equal(r.Parts, want) || len(r.Programs) != 1 {
		t.Errorf("got %+v, want parts %+v and the program", r, want)
	}
	if text := Table(Results{"k": r}, []string{"k"}); !strings.Contains(text, "s (1)") || !strings.Contains(text, "(1) tried 1, a") {
		t.Errorf("table: %s", text)
	}
}
