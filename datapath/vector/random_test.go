package vector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/conformance/exact"
	"github.com/plumbline-upf/plumbline/datapath/conformance/oracle"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
)

// firstSeeds are those of every run. With SOAK it goes on for that time.
const firstSeeds = 240

// shapeNames are the beds on which scripts run in turn.
var shapeNames = [2]string{"two devices", "one device"}

// randomRun is a bed of each shape, and its oracle.
type randomRun struct {
	beds     [len(shapeNames)]*bed
	oracles  [len(shapeNames)]*random.Stages
	coverage random.Coverage
}

func newRandomRun(t *testing.T) *randomRun {
	t.Helper()
	r := &randomRun{}
	for i := range r.beds {
		r.beds[i], r.oracles[i] = openRandom(t, i == 1)
	}
	return r
}

func openRandom(t testing.TB, oneDevice bool) (*bed, *random.Stages) {
	b, o := openBed(t, func(b *bed, _ *Config) { b.oneDevice, b.several = oneDevice, true }), random.NewStages(t)
	o.OneDevice = oneDevice
	if err := b.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, o
}

// TestRandom: whatever sessions come, change and go, and whatever arrives, the engine
// does what the model does. Each element of docs/rules.md is met by packets of the
// first seeds.
func TestRandom(t *testing.T) {
	limit := time.Duration(0)
	if soak := os.Getenv("SOAK"); soak != "" {
		var err error
		if limit, err = time.ParseDuration(soak); err != nil {
			t.Fatalf("SOAK: %v", err)
		}
	}
	r := newRandomRun(t)
	begin, start := time.Now(), uint64(time.Now().UnixNano())
	for n := uint64(0); n < firstSeeds || time.Since(begin) < limit; n++ {
		seed := n
		if n >= firstSeeds {
			seed = start + n
		}
		r.run(t, seed)
		if n == firstSeeds-1 {
			for _, name := range r.coverage.Missing(func(e datapath.Element) datapath.Way { return e.Model }) {
				t.Errorf("no packet of seeds 0 to %d meets %s", n, name)
			}
		}
	}
	t.Log(&r.coverage)
}

// TestOracle: the engine, and the stages to which it hands packets, do what the oracle says that
// shares no code with them.
func TestOracle(t *testing.T) {
	b, _ := openRandom(t, false)
	oracle.Run(t, b, 400)
}

// run makes the script of a seed and runs it on one of the beds.
func (r *randomRun) run(t *testing.T, seed uint64) {
	t.Helper()
	shape := seed % uint64(len(r.beds))
	b, o := r.beds[shape], r.oracles[shape]
	s := random.Generate(seed, b.Capabilities())
	if d := random.RunCounting(t, s, o, b, &r.coverage); d != nil {
		report(t, int(shape), seed, s, d)
	}
	if all := b.Remains(); all != nil {
		t.Fatalf("seed %d, %s: without sessions: %q, after\n%s", seed, shapeNames[shape], all, s)
	}
}

// report shrinks a script on an engine of its own.
func report(t *testing.T, shape int, seed uint64, s random.Script, d *random.Disagreement) {
	t.Helper()
	t.Errorf("seed %d, %s, step %d of %d: %s", seed, shapeNames[shape], d.Step+1, len(s), d.What)
	b, o := openRandom(t, shape == 1)
	if d = random.Run(t, s, o, b); d == nil {
		t.Fatal("not so on an engine of its own")
	}
	end := time.Now().Add(time.Minute)
	kind, _, _ := strings.Cut(d.What, " ")
	small := random.Shrink(s[:d.Step+1], func(s random.Script) bool {
		now := random.Run(t, s, o, b)
		return now != nil && strings.HasPrefix(now.What, kind) && time.Now().Before(end)
	})
	t.Fatalf("shrunk to %d steps: %v\n%s", len(small), random.Run(t, small, o, b), small)
}

// TestRandomCorpus replays what has once been found in any datapath.
func TestRandomCorpus(t *testing.T) {
	scripts, err := random.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	r := newRandomRun(t)
	for name, s := range scripts {
		for i, b := range r.beds {
			t.Run(shapeNames[i]+"/"+filepath.Base(name), func(t *testing.T) {
				if d := random.Run(t, s, r.oracles[i], b); d != nil {
					t.Errorf("step %d: %s", d.Step+1, d.What)
				}
				if all := b.Remains(); all != nil {
					t.Errorf("without sessions: %q", all)
				}
			})
		}
	}
}

var _ random.Datapath = (*bed)(nil)

// TestExact holds meters and URRs against exact arithmetic, for jumbo frames too.
func TestExact(t *testing.T) {
	const octets = 9000
	exact.Run(t, exact.Bed{MaxOctets: octets, Open: func(t testing.TB, burst time.Duration) exact.Datapath {
		return openBed(t, func(b *bed, c *Config) { b.mtu, c.MeterBurst = octets+64, burst })
	}})
}
