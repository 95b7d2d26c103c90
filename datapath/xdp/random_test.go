package xdp

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/oracle"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
)

// randomBed is the programs with their slow path, as random scripts see them.
type randomBed struct {
	sharedBed
	shape    shape
	patience time.Duration // for an event
}

// shape says which programs are on the devices of a bed.
type shape int

const (
	twoPrograms shape = iota // N3 and N6 on devices of their own
	oneProgram               // on the same
	vlanProgram              // on the same, all ports tagged
	shapes
)

var shapeNames = [shapes]string{"two devices", "one device", "VLANs"}

// Events come through a ring. Where it is known that one is missing, or another is,
// nobody waits for long.
const patient, impatient = 5 * time.Second, 500 * time.Millisecond

func openRandom(t testing.TB, hook Hook, kind shape, patience time.Duration) randomBed {
	t.Helper()
	cfg := Config{Hook: hook}
	b := randomBed{shape: kind, patience: patience}
	switch kind {
	case oneProgram:
		cfg.programs = []string{"upf_both_xdp"}
		b.sharedBed = openShared(t, cfg, bedPorts())
	case vlanProgram:
		cfg.programs = []string{"upf_vlan_xdp"}
		b.sharedBed = openShared(t, cfg, vlanPorts())
		b.tag(t)
	default:
		b.sharedBed = openShared(t, cfg, bedPorts())
	}
	if err := b.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// oracleOf is the model of a bed.
func oracleOf(t testing.TB, kind shape) *random.Stages {
	o := random.NewStages(t)
	o.OneDevice = kind == oneProgram
	return o
}

// EventWait implements [random.Datapath].
func (b randomBed) EventWait() time.Duration { return b.patience }

// Frame implements [conformance.Datapath]. The next look at queues that are
// stopped comes at once: until then packets are dropped that would fit, being
// shorter, or that another reason stops. So does the look for sessions that an
// Error Indication is about: later they may be others.
func (b randomBed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	defer b.slow.resume()
	defer func() {
		if tunnels := b.errored.Take(); len(tunnels) > 0 {
			b.findErrored(tunnels)
		}
	}()
	switch b.shape {
	case oneProgram:
		b.arriveOn(t, max(0, int(port-conformance.N6)))
		if port == conformance.N6LAN { // which has a device of its own
			return b.bed.Frame(t, port, frame)
		}
		return b.frame(t, b.objs.UpfBothXdp, port, frame)
	case vlanProgram:
		return (&vlanBed{b.bed}).Frame(t, port, frame)
	}
	return b.bed.Frame(t, port, frame)
}

// firstSeeds are those of every run. With SOAK it goes on for that time with seeds
// that nobody has seen (make soak).
const firstSeeds = 240

// TestRandom: whatever sessions come, change and go, and whatever arrives, the
// programs with their slow path do what the model does. What it finds it shrinks,
// prints, and keeps in the corpus of package random. Each element of docs/rules.md
// that the programs do is met by packets of the first seeds.
func TestRandom(t *testing.T) {
	limit, soak := time.Duration(0), os.Getenv("SOAK")
	if soak != "" {
		var err error
		if limit, err = time.ParseDuration(soak); err != nil {
			t.Fatalf("SOAK: %v", err)
		}
	}
	r := newRandomRun(t, HookXDP)
	begin, start := time.Now(), rand.Uint64()
	shown := begin
	if soak != "" {
		fmt.Printf("random scripts: seeds 0 to %d, and from %d on\n", firstSeeds-1, start)
	}
	for n := uint64(0); n < firstSeeds || time.Since(begin) < limit; n++ {
		seed := n
		if n >= firstSeeds {
			seed = start + n
		}
		r.run(t, seed)
		if n == firstSeeds-1 {
			for _, name := range r.coverage.Missing(func(e datapath.Element) datapath.Way { return e.XDP }) {
				t.Errorf("no packet of seeds 0 to %d meets %s", n, name)
			}
		}
		if now := time.Now(); soak != "" && now.Sub(shown) >= 10*time.Second {
			shown = now
			fmt.Printf("%v: %d scripts, %.0f scripts/s, the last one of seed %d\n",
				now.Sub(begin).Round(time.Second), n+1, float64(n+1)/now.Sub(begin).Seconds(), seed)
		}
	}
	t.Logf("%s%s", &r.coverage, r.passes(t))
}

// firstSeedsTC are those of every run of TC, whose stages are the same.
const firstSeedsTC = 120

// TestRandomTC is TestRandom for the programs on skbs.
func TestRandomTC(t *testing.T) {
	r := newRandomRun(t, HookTC)
	for seed := range uint64(firstSeedsTC) {
		r.run(t, seed)
	}
	t.Logf("%s%s", &r.coverage, r.passes(t))
}

// TestOracle: programs and slow path do what the oracle says that shares no code with them.
func TestOracle(t *testing.T) {
	for name, hook := range map[string]Hook{"xdp": HookXDP, "tc": HookTC} {
		t.Run(name, func(t *testing.T) { oracle.Run(t, openRandom(t, hook, 0, patient), 150) })
	}
}

// randomRun is a bed of each shape, which have scripts in turn.
type randomRun struct {
	hook     Hook
	shapes   shape // so many of them
	beds     [shapes]randomBed
	oracles  [shapes]*random.Stages
	before   [shapes]random.Script // what the tables have seen of late
	coverage random.Coverage
}

func newRandomRun(t *testing.T, hook Hook) *randomRun {
	t.Helper()
	r := &randomRun{hook: hook, shapes: shapes}
	if hook == HookTC {
		r.shapes = vlanProgram // BPF_PROG_RUN does not take tags out of what arrives, as the kernel does
	}
	for kind := range r.shapes {
		r.beds[kind], r.oracles[kind] = openRandom(t, hook, kind, patient), oracleOf(t, kind)
	}
	return r
}

// run makes the script of a seed and runs it on one of the beds: which one is the
// seed's, too.
func (r *randomRun) run(t *testing.T, seed uint64) {
	t.Helper()
	kind := shape(seed % uint64(r.shapes))
	s := random.Generate(seed, r.beds[kind].Capabilities())
	if r.hook == HookTC {
		s = slices.DeleteFunc(s, func(s random.Step) bool { return s.Port == conformance.N6LAN && len(s.Frame) > 0 && !runnable(s.Frame) })
	}
	if d := random.RunCounting(t, s, r.oracles[kind], r.beds[kind], &r.coverage); d != nil {
		report(t, r.hook, kind, seed, r.before[kind], s, d)
	}
	if all := r.beds[kind].Remains(); all != nil {
		t.Fatalf("seed %d, %s: without sessions: %q, after\n%s", seed, shapeNames[kind], all, s)
	}
	r.before[kind] = random.After(r.before[kind], s)
}

// passes says why the programs handed packets on.
func (r *randomRun) passes(t *testing.T) string {
	t.Helper()
	all, slow := map[string]uint64{}, 0
	for kind := range r.shapes {
		passes, err := r.beds[kind].Passes()
		if err != nil {
			t.Fatal(err)
		}
		for reason, n := range passes {
			all[reason] += n
		}
		slow += r.beds[kind].slowFrames
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d packets went through the slow path; handed on, by it or to it:\n", slow)
	for _, reason := range slices.Sorted(maps.Keys(all)) {
		if all[reason] > 0 {
			fmt.Fprintf(&b, "%9d  %s\n", all[reason], reason)
		}
	}
	return b.String()
}

// shrinkTime is how long a script is made smaller. Each step of it is the same
// script again, which takes milliseconds.
const shrinkTime = 2 * time.Minute

// report shrinks a script on datapaths of its own and keeps it. If what earlier
// scripts have left is needed for it, they are a part of it.
func report(t *testing.T, hook Hook, kind shape, seed uint64, before, s random.Script, d *random.Disagreement) {
	t.Helper()
	t.Errorf("seed %d, %s, step %d of %d: %s", seed, shapeNames[kind], d.Step+1, len(s), d.What)
	b, o := openRandom(t, hook, kind, impatient), oracleOf(t, kind)
	if d = random.Run(t, s, o, b); d == nil {
		s = random.After(before, s)
		b, o = openRandom(t, hook, kind, impatient), oracleOf(t, kind)
		if d = random.Run(t, s, o, b); d == nil {
			t.Fatalf("not so on fresh tables, nor after the last scripts")
		}
	}
	s = s[:d.Step+1]
	small, what := shrink(t, s, o, b, d), d
	b.patience = patient
	if again := random.Run(t, small, o, b); again != nil {
		what = again
	} else {
		small = s // an event was only late
	}
	name := fmt.Sprintf("seed-%d.txt", seed)
	again := "go test -run 'TestRandomCorpus/.*/" + name + "' ./datapath/xdp"
	text := fmt.Sprintf("# seed %d, on %s\n# again: %s\n%s", seed, shapeNames[kind], again, small)
	path := filepath.Join("..", "conformance", "random", "testdata", name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
	t.Fatalf("shrunk to %d steps: %v\n%s\nkept in %s; again: %s", len(small), what, text, path, again)
}

// shrink returns a script that shows a difference of the same kind as d.
func shrink(t *testing.T, s random.Script, want, got random.Datapath, d *random.Disagreement) random.Script {
	end := time.Now().Add(shrinkTime)
	kind, _, _ := strings.Cut(d.What, " ")
	return random.Shrink(s, func(s random.Script) bool {
		if time.Now().After(end) {
			return false
		}
		now := random.Run(t, s, want, got)
		return now != nil && strings.HasPrefix(now.What, kind)
	})
}

// TestRandomCorpus replays what has once been found, on beds of all shapes.
func TestRandomCorpus(t *testing.T) { testRandomCorpus(t, HookXDP) }

func TestRandomCorpusTC(t *testing.T) { testRandomCorpus(t, HookTC) }

func testRandomCorpus(t *testing.T, hook Hook) {
	scripts, err := random.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	r := newRandomRun(t, hook)
	for name, s := range scripts {
		for kind := range r.shapes {
			t.Run(shapeNames[kind]+"/"+filepath.Base(name), func(t *testing.T) {
				if d := random.Run(t, s, r.oracles[kind], r.beds[kind]); d != nil {
					t.Errorf("step %d: %s", d.Step+1, d.What)
				}
				if all := r.beds[kind].Remains(); all != nil {
					t.Errorf("without sessions: %q", all)
				}
			})
		}
	}
}

var _ datapath.Driver = randomBed{}
