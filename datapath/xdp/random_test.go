package xdp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/conformance/random"
	"plumbline/datapath/model"
)

// randomBed is the programs with their slow path, as random scripts see them.
type randomBed struct{ sharedBed }

func openRandom(t testing.TB) randomBed {
	b := randomBed{openShared(t, Config{}, bedPorts())}
	if err := b.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// EventWait implements [random.Datapath]: events come through a ring.
func (randomBed) EventWait() time.Duration { return 5 * time.Second }

// Frame implements [conformance.Datapath]. The next look at queues that are
// stopped comes at once: until then packets are dropped that would fit, being
// shorter, or that another reason stops.
func (b randomBed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	defer b.slow.resume()
	return b.bed.Frame(t, port, frame)
}

// oracle is a model with a clock of its own.
type oracle struct {
	*model.UPF
	now  uint64
	sent [][]byte
}

func newOracle(t testing.TB) *oracle {
	o := &oracle{now: 1e9}
	o.UPF = model.New(model.Config{
		Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions,
		MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6, Advertise: &conformance.Advertise,
		Now:  func() uint64 { return o.now },
		Send: func(packet []byte) { o.sent = append(o.sent, bytes.Clone(packet)) },
	})
	if err := o.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *oracle) Pass(d time.Duration) {
	o.now += uint64(d)
	o.Sweep()
}

func (o *oracle) EventWait() time.Duration { return 0 }

func (o *oracle) Frame(_ testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	treat := o.FromN6
	if port == conformance.N3 {
		treat = o.FromN3
	}
	out := treat(frame)
	return conformance.Outcome{Reason: out.Reason, Packet: out.Packet}
}

func (o *oracle) Sent(testing.TB) [][]byte {
	sent := o.sent
	o.sent = nil
	return sent
}

// Seeds of every run, and how long it goes on with seeds of its own. SOAK sets
// another time (make soak).
const (
	firstSeeds = 60
	randomTime = 4 * time.Second
)

// TestRandom: whatever sessions come, change and go, and whatever arrives, the
// programs with their slow path do what the model does. What it finds it shrinks,
// prints, and keeps in the corpus of package random.
func TestRandom(t *testing.T) {
	limit := randomTime
	soak := os.Getenv("SOAK")
	if soak != "" {
		var err error
		if limit, err = time.ParseDuration(soak); err != nil {
			t.Fatalf("SOAK: %v", err)
		}
	}
	b, o := openRandom(t), newOracle(t)
	has := b.Capabilities()
	begin, start := time.Now(), rand.Uint64()
	fmt.Printf("random scripts: seeds 0 to %d, and from %d on\n", firstSeeds-1, start)
	shown := begin
	var before random.Script // what the tables have seen of late
	for n := uint64(0); n < firstSeeds || time.Since(begin) < limit; n++ {
		seed := n
		if n >= firstSeeds {
			seed = start + n
		}
		s := random.Generate(seed, has)
		if d := random.Run(t, s, o, b); d != nil {
			report(t, seed, before, s, d)
		}
		before = random.After(before, s)
		if now := time.Now(); soak != "" && now.Sub(shown) >= 10*time.Second {
			shown = now
			fmt.Printf("%v: %d scripts, %.0f scripts/s, the last one of seed %d\n",
				now.Sub(begin).Round(time.Second), n+1, float64(n+1)/now.Sub(begin).Seconds(), seed)
		}
	}
}

// report shrinks a script on datapaths of its own and keeps it. If what earlier
// scripts have left is needed for it, they are a part of it.
func report(t *testing.T, seed uint64, before, s random.Script, d *random.Disagreement) {
	t.Helper()
	t.Errorf("seed %d, step %d of %d: %s", seed, d.Step+1, len(s), d.What)
	b, o := openRandom(t), newOracle(t)
	if d = random.Run(t, s, o, b); d == nil {
		s = random.After(before, s)
		b = openRandom(t)
		if d = random.Run(t, s, o, b); d == nil {
			t.Fatalf("not so on fresh tables, nor after the last scripts")
		}
	}
	end := time.Now().Add(time.Minute)
	small := random.Shrink(s[:d.Step+1], func(s random.Script) bool {
		return time.Now().Before(end) && random.Run(t, s, o, b) != nil
	})
	what := random.Run(t, small, o, b)
	text := fmt.Sprintf("# seed %d\n%s", seed, small)
	path := filepath.Join("..", "conformance", "random", "testdata", fmt.Sprintf("seed-%d.txt", seed))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
	t.Fatalf("shrunk to %d steps: %v\n%s\nkept in %s", len(small), what, text, path)
}

// TestRandomCorpus replays what has once been found.
func TestRandomCorpus(t *testing.T) {
	scripts, err := random.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	b, o := openRandom(t), newOracle(t)
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			if d := random.Run(t, s, o, b); d != nil {
				t.Errorf("step %d: %s", d.Step+1, d.What)
			}
		})
	}
}

var _ datapath.Driver = randomBed{}
