package store

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashDir names the directory in which a child process of the test saves until
// it is killed.
const crashDir = "PLUMBLINE_TEST_CRASH_DIR"

const crashSavers = 4

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := saveUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// operation is the n-th one of a saver: each time the same.
func operation(saver, n int) (op byte, id uint64, text string) {
	r := rand.New(rand.NewPCG(uint64(saver), uint64(n)))
	id = uint64(saver)<<32 | r.Uint64N(20)
	if r.IntN(4) == 0 {
		return opDrop, id, ""
	}
	return opSave, id, fmt.Sprintf("%d %s", n, strings.Repeat("x", r.IntN(400)))
}

// saveUntilKilled says on stdout "SAVER N" when N operations are flushed.
func saveUntilKilled(dir string) error {
	j, err := OpenJournal(JournalConfig{Dir: dir, Log: quiet()})
	if err != nil {
		return err
	}
	j.compactAtLeast = 32 << 10
	var n [crashSavers]int
	err = j.Load(context.Background(), func(kind byte, id uint64, record []byte) error {
		if kind == Meta {
			_, err := fmt.Sscan(string(record), &n[id])
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	var savers sync.WaitGroup
	for saver := range crashSavers {
		savers.Go(func() {
			for i := n[saver] + 1; ; i++ {
				op, id, text := operation(saver, i)
				if op == opSave {
					j.Save(Session, id, []byte(text))
				} else {
					j.Drop(Session, id)
				}
				j.Save(Meta, uint64(saver), fmt.Append(nil, i))
				if err := j.Flush(context.Background()); err != nil {
					panic(err)
				}
				fmt.Println(saver, i)
			}
		})
	}
	savers.Wait()
	return nil
}

// TestJournalCrash kills a process at random moments while it saves. Afterwards
// all that Flush had acknowledged is there; of each saver one operation more may
// be, which it was about to acknowledge; and nothing else differs.
func TestJournalCrash(t *testing.T) {
	dir := t.TempDir()
	var acknowledged [crashSavers]int
	compacted := false
	for round := range 12 {
		killSaving(t, dir, time.Duration(20+rand.IntN(80))*time.Millisecond, &acknowledged)
		j := openJournal(t, dir, SyncNone)
		compacted = compacted || j.snapshot != nil
		got := load(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		for saver := range crashSavers {
			// What is there once has to stay.
			acknowledged[saver] = checkSaver(t, round, saver, acknowledged[saver], got)
		}
		if t.Failed() {
			return
		}
	}
	if !compacted {
		t.Errorf("nothing was compacted: %v operations", acknowledged)
	}
}

// killSaving runs a child for about the time given.
func killSaving(t *testing.T, dir string, after time.Duration, acknowledged *[crashSavers]int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	first := true
	for lines.Scan() {
		var saver, n int
		if _, err := fmt.Sscan(lines.Text(), &saver, &n); err != nil {
			continue // the last line, cut
		}
		acknowledged[saver] = max(acknowledged[saver], n)
		if first {
			first = false
			time.AfterFunc(after, func() { child.Process.Kill() })
		}
	}
	if err := child.Wait(); err == nil || first {
		t.Fatalf("the child was not killed while it saved: %v", err)
	}
}

// checkSaver compares what a saver left with what it did, and returns how many
// operations that are.
func checkSaver(t *testing.T, round, saver, acknowledged int, got contents) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(got[name{Meta, uint64(saver)}], &n); err != nil && acknowledged > 0 {
		t.Fatalf("round %d, saver %d: no count: %v", round, saver, err)
	}
	// The two records of an operation are of one write, but a write may be cut
	// between them: the count is then the one before.
	if n < acknowledged || n > acknowledged+1 {
		t.Errorf("round %d, saver %d: %d operations, %d acknowledged", round, saver, n, acknowledged)
	}
	state := func(n int) contents {
		want := contents{}
		for i := 1; i <= n; i++ {
			switch op, id, text := operation(saver, i); op {
			case opSave:
				want[name{Session, id}] = text
			default:
				delete(want, name{Session, id})
			}
		}
		return want
	}
	mine := contents{}
	for k, v := range got {
		if k.kind == Session && k.id>>32 == uint64(saver) {
			mine[k] = v
		}
	}
	if same(mine, state(n)) || n == acknowledged && same(mine, state(n+1)) {
		return n
	}
	t.Errorf("round %d, saver %d, %d operations, %d acknowledged:", round, saver, n, acknowledged)
	equal(t, mine, state(n))
	return n
}

func same(a, b contents) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}
