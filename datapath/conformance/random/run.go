package random

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// Datapath is one of the two that are compared. It has no sessions when a script
// begins.
type Datapath interface {
	conformance.Datapath
	// Pass lets the clock of meters, buffers and limits go on; nothing else does.
	Pass(d time.Duration)
	// EventWait is how long an event may take from its reason to Next; 0: it is
	// there at once.
	EventWait() time.Duration
}

// Disagreement is the first difference that a script shows.
type Disagreement struct {
	Step int // of the script
	What string
}

// Run runs the script on both and returns how they differ, or nil. Afterwards
// both are as they were before, but for the clock. Want is taken to be right; it raises
// its events at once.
func Run(t testing.TB, s Script, want, got Datapath) *Disagreement {
	return RunCounting(t, s, want, got, &Coverage{})
}

// RunCounting is [Run], and adds to c what the script exercises.
func RunCounting(t testing.TB, s Script, want, got Datapath, c *Coverage) *Disagreement {
	r := &run{t: t, want: want, got: got, held: map[uint64]*api.Session{}, coverage: c}
	c.Scripts++
	r.drops = [2]map[string]uint64{r.dropsOf(want), r.dropsOf(got)}
	defer r.clear()
	for i, step := range s {
		if what := r.step(step); what != "" {
			return &Disagreement{i, what}
		}
	}
	if what := r.end(); what != "" {
		return &Disagreement{len(s) - 1, what}
	}
	return nil
}

type run struct {
	t         testing.TB
	want, got Datapath
	held      map[uint64]*api.Session
	coverage  *Coverage
	told      []*api.Event // that have come
	left      [2][]byte    // the first packet of all that leave, where its place is open
	before    [2]map[uint64]*api.SessionUsage
	drops     [2]map[string]uint64 // when the script began
}

// step does one step and says what differs.
func (r *run) step(s Step) string {
	var what string
	switch {
	case s.Change != nil:
		what = r.change(s.Change)
	case s.Frame != nil:
		what = r.frame(s)
	default:
		r.want.Pass(s.Wait)
		r.got.Pass(s.Wait)
	}
	for _, compare := range []func() string{r.compareSent, r.compareEvents, r.compareUsage} {
		if what != "" {
			return what
		}
		what = compare()
	}
	if s.Change != nil {
		r.before = r.usages() // what a change leaves of the counts is open
	}
	return what
}

func (r *run) change(c *api.Change) string {
	want, got := r.want.Apply(context.Background(), c), r.got.Apply(context.Background(), c)
	if !SameRefusal(want, got) {
		return fmt.Sprintf("applied: want %v, got %v", want, got)
	}
	if want == nil {
		r.coverage.changed(c, r.held[c.GetSeid()])
		r.held[c.GetSeid()] = c.GetSession()
	} else {
		r.coverage.Refused++
	}
	r.before = [2]map[uint64]*api.SessionUsage{}
	return ""
}

func (r *run) frame(s Step) string {
	want, got := r.want.Frame(r.t, s.Port, bytes.Clone(s.Frame)), r.got.Frame(r.t, s.Port, bytes.Clone(s.Frame))
	r.coverage.frame(s, want.Reason)
	if o, ok := r.want.(interface{ Matched() (uint64, uint32) }); ok {
		seid, pdrID := o.Matched()
		r.coverage.matched(r.held[seid], pdrID)
	}
	whole := slices.Concat(got.Ethernet, got.Packet) // as a frame on an Ethernet data network is
	if r.sendsHere() && slices.Contains(got.Several, want.Reason) {
		got.Reason = want.Reason
	}
	if want.Reason == got.Reason && r.sendsHere() { // what leaves first need not be the packet itself
		r.left = [2][]byte{want.Packet, got.Packet}
		if bytes.Equal(want.Packet, whole) {
			r.left[1] = whole
		}
		return ""
	}
	if want.Reason != got.Reason || !bytes.Equal(want.Packet, got.Packet) && !bytes.Equal(want.Packet, whole) {
		return fmt.Sprintf("frame: want %v %x\n        got %v %x", want.Reason, want.Packet, got.Reason, got.Packet)
	}
	return ""
}

func (r *run) compareSent() string {
	want, got := r.want.Sent(r.t), r.got.Sent(r.t)
	if r.left[0] != nil || r.left[1] != nil {
		want, got = append(want, r.left[0]), append(got, r.left[1])
		r.left = [2][]byte{}
	}
	if len(want) > 0 {
		add(&r.coverage.traits, "something left of its own accord")
	}
	if r.sendsHere() { // the model finishes with one packet before the next, drivers pass by pass
		slices.SortFunc(want, bytes.Compare)
		slices.SortFunc(got, bytes.Compare)
	}
	if !slices.EqualFunc(want, got, bytes.Equal) {
		return fmt.Sprintf("left of its own accord: want %x\n        got %x", want, got)
	}
	return ""
}

// sendsHere reports whether a rule sends to an address of the UPF itself.
func (r *run) sendsHere() bool {
	for _, s := range r.held {
		for _, rule := range s.GetRules() {
			if isHere(rule.GetForward().GetOuterHeaderCreation()) {
				return true
			}
		}
	}
	return false
}

// compareEvents takes what the first has raised, and waits for as many of the
// second. More than that come out with a later step, or at the end.
func (r *run) compareEvents() string {
	want := drain(r.want, 0)
	if len(want) == 0 {
		return ""
	}
	for _, e := range want {
		add(&r.coverage.events, e.GetKind().String())
	}
	return r.sameEvents(want, drain(r.got, len(want)))
}

// drain takes all events that are there, and waits until there are n different
// ones. An event may come twice: who asks between two of the same gets both.
func drain(d Datapath, n int) (events []*api.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), d.EventWait())
	defer cancel()
	for {
		if len(events) >= n {
			cancel()
		}
		e, err := d.Next(ctx)
		if err != nil {
			return events
		}
		if e.GetKind() == api.EventKind_ERROR_INDICATION {
			e.RuleId = 0 // any PDR that sends there
		}
		if !slices.ContainsFunc(events, func(o *api.Event) bool { return proto.Equal(o, e) }) {
			events = append(events, e)
		}
	}
}

// sameEvents compares events. One that came with an earlier step may come again:
// two of the same are one only as long as nobody has asked.
func (r *run) sameEvents(want, got []*api.Event) string {
	got = slices.DeleteFunc(got, func(e *api.Event) bool {
		same := func(o *api.Event) bool { return proto.Equal(o, e) }
		return slices.ContainsFunc(r.told, same) && !slices.ContainsFunc(want, same)
	})
	r.told = append(r.told, want...)
	if len(want)+len(got) == 0 {
		return ""
	}
	order := func(a, b *api.Event) int { return bytes.Compare(key(a), key(b)) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		return "events (-want +got):\n" + diff
	}
	return ""
}

func key(e *api.Event) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
	if err != nil {
		panic(err) // a message of ours is always valid
	}
	return b
}

func (r *run) compareUsage() string {
	if r.before[0] == nil {
		return ""
	}
	now := r.usages()
	for seid := range now[0] {
		want, got := added(r.before[0][seid], now[0][seid]), added(r.before[1][seid], now[1][seid])
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			return fmt.Sprintf("usage of session %d (-want +got):\n%s", seid, diff)
		}
	}
	return ""
}

// usages returns what both have counted for the sessions that are there.
func (r *run) usages() (all [2]map[uint64]*api.SessionUsage) {
	for i, d := range []Datapath{r.want, r.got} {
		all[i] = map[uint64]*api.SessionUsage{}
		for seid, s := range r.held {
			if s == nil {
				continue
			}
			u, err := d.Usage(seid)
			if err != nil {
				r.t.Fatalf("usage of session %d: %v", seid, err)
			}
			all[i][seid] = u
		}
	}
	return all
}

// added returns after with the counts of its rules less those of before. Those of
// URRs are absolute.
func added(before, after *api.SessionUsage) *api.SessionUsage {
	after = proto.CloneOf(after)
	for i, u := range after.GetRules() {
		b := before.GetRules()[i]
		u.Packets -= b.GetPackets()
		u.Octets -= b.GetOctets()
		u.DroppedPackets -= b.GetDroppedPackets()
	}
	return after
}

func (r *run) dropsOf(d Datapath) map[string]uint64 {
	drops, err := d.Drops()
	if err != nil {
		r.t.Fatal(err)
	}
	return drops
}

// end compares the counters of drops, and looks for events that only the second
// has raised.
func (r *run) end() string {
	now := [2]map[string]uint64{r.dropsOf(r.want), r.dropsOf(r.got)}
	for reason := range now[0] {
		want, got := now[0][reason]-r.drops[0][reason], now[1][reason]-r.drops[1][reason]
		if want != got {
			return fmt.Sprintf("packets dropped for %s: want %d, got %d", reason, want, got)
		}
	}
	time.Sleep(min(r.got.EventWait(), time.Millisecond))
	return r.sameEvents(drain(r.want, 0), drain(r.got, 0))
}

// clear removes what the script has left, and lets so much time pass that no
// limit remembers it.
func (r *run) clear() {
	for _, d := range []Datapath{r.want, r.got} {
		for seid, s := range r.held {
			if s == nil {
				continue
			}
			if err := d.Apply(context.Background(), &api.Change{Seid: seid, DropBuffered: true}); err != nil && !errors.Is(err, datapath.ErrNoSession) {
				r.t.Fatalf("remove session %d: %v", seid, err)
			}
		}
		d.Pass(longAgo)
		d.Sent(r.t)
		drain(d, 0)
	}
}

// longAgo is after how long all limits, mappings and names are forgotten.
const longAgo = 3 * time.Hour

// remembered is how many steps of earlier scripts are kept.
const remembered = 2000

// After returns a script that does the last steps of before, removes what is
// there, and then does s.
func After(before, s Script) Script {
	out := slices.Clone(before[max(0, len(before)-remembered):])
	if len(out) > 0 {
		for seid := range uint64(sessions) {
			out = append(out, Step{Change: &api.Change{Seid: seid + 1, DropBuffered: true}})
		}
		out = append(out, Step{Wait: longAgo})
	}
	return append(out, s...)
}

// SameRefusal reports whether both errors are about the same rule, for the same
// reason; nil is one, too. Of several PDRs that clash with other sessions any may
// be named.
func SameRefusal(a, b error) bool {
	var ra, rb *datapath.RuleError
	if errors.As(a, &ra) != errors.As(b, &rb) {
		return false
	}
	if ra != nil && (ra.Type != rb.Type || ra.ID != rb.ID && !errors.Is(a, datapath.ErrClash)) {
		return false
	}
	for _, is := range []error{datapath.ErrClash, datapath.ErrFull, datapath.ErrNoRule, datapath.ErrNoSession, datapath.ErrUnsupported} {
		if errors.Is(a, is) != errors.Is(b, is) {
			return false
		}
	}
	return (a == nil) == (b == nil)
}
