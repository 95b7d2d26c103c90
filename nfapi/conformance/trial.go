package conformance

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// Verdict is how a case ended.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "pass"
	Failed  Verdict = "fail"
	Skipped Verdict = "skip" // the profile has no such thing, or it cannot be seen from outside
	NotRun  Verdict = "not run"
)

// Step is one expectation of a case.
type Step struct {
	Sent     string `json:"sent,omitempty"`
	Expected string `json:"expected"`
	Came     string `json:"came"`
	OK       bool   `json:"ok"`
}

// Result is the result of a case.
type Result struct {
	Case
	Verdict Verdict       `json:"verdict"`
	Reason  string        `json:"reason,omitempty"` // of a verdict other than pass
	Steps   []Step        `json:"steps,omitempty"`
	Took    time.Duration `json:"took_ns"`
}

// trial is a case that runs.
type trial struct {
	ctx    context.Context
	config *Config
	result Result
	sent   []string // since the last step
	absent bool     // the peer did not come
}

// stop is what a case panics with when it ends before its last line.
type stop struct{}

// maxSteps is how many steps a result keeps; maxText how long their texts are.
const (
	maxSteps = 200
	maxText  = 400
)

// run runs a case.
func (t *trial) run(b bench, i, gone int) {
	began := time.Now()
	defer func() { t.result.Took = time.Since(began) }()
	switch {
	case t.ctx.Err() != nil:
		t.result.Verdict, t.result.Reason = NotRun, "it was stopped"
		return
	case gone >= maxGone:
		t.result.Verdict, t.result.Reason, t.absent = NotRun, "the peer does not come any more", true
		return
	}
	t.guarded(func() { b.perform(i, t) })
	switch t.result.Verdict {
	case "":
		t.result.Verdict = Passed
	case Failed:
		if t.ctx.Err() != nil {
			t.result.Verdict, t.result.Reason = NotRun, "it was stopped"
		}
		b.renew()
	}
}

// guarded runs f, which may stop.
func (t *trial) guarded(f func()) {
	defer func() {
		if r := recover(); r != nil && r != (stop{}) {
			panic(r)
		}
	}()
	f()
}

// did says what was sent, for the next step.
func (t *trial) did(format string, values ...any) {
	t.sent = append(t.sent, fmt.Sprintf(format, values...))
}

// check notes a step, and ends the case if it is not as expected.
func (t *trial) check(ok bool, expected, came string) {
	t.note(ok, expected, came)
	if !ok {
		panic(stop{})
	}
}

// require is check with what came if it is not as expected.
func (t *trial) require(ok bool, expected, otherwise string) {
	if ok {
		otherwise = "as expected"
	}
	t.check(ok, expected, otherwise)
}

// note records a step, and continues.
func (t *trial) note(ok bool, expected, came string) {
	s := Step{Sent: shortened(strings.Join(t.sent, "; ")), Expected: expected, Came: shortened(came), OK: ok}
	t.sent = nil
	if len(t.result.Steps) < maxSteps || !ok {
		t.result.Steps = append(t.result.Steps, s)
	}
	if !ok {
		t.result.Verdict = Failed
		if t.result.Reason == "" {
			t.result.Reason = "expected " + expected + "; came " + s.Came
		}
	}
}

// fatal ends the case: err is the reason why it cannot continue.
func (t *trial) fatal(expected string, err error) { t.check(false, expected, err.Error()) }

// skip ends a case that says nothing about this peer.
func (t *trial) skip(format string, values ...any) {
	t.result.Verdict, t.result.Reason = Skipped, fmt.Sprintf(format, values...)
	panic(stop{})
}

// random is what the case takes for chance: the same for the same seed and name.
func (t *trial) random() *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.result.Name)) // it does not fail
	return rand.New(rand.NewPCG(t.config.Seed, h.Sum64()))
}

var errStopped = errors.New("it was stopped")

// await polls ok until it is true or the time limit of an answer has passed.
func (t *trial) await(ok func() bool) bool { return t.awaitFor(t.config.Timeout, ok) }

func (t *trial) awaitFor(long time.Duration, ok func() bool) bool {
	for end := time.Now().Add(long); ; time.Sleep(time.Millisecond) {
		switch {
		case ok():
			return true
		case time.Now().After(end), t.ctx.Err() != nil:
			return false
		}
	}
}

func shortened(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "…"
	}
	return s
}
