package p4

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestRemovedWhileAway: a session can be removed while the target is away, and is not in it when that is back.
func TestRemovedWhileAway(t *testing.T) {
	for _, noticed := range []bool{true, false} {
		b := newBed(t)
		for seid := range uint64(2) {
			b.set(plainSession(1 + seid))
		}
		b.settle()
		for seid := range uint64(2) {
			b.send(0, uplink(1+seid, 100))
			b.usage(1 + seid)
		}
		b.send(0, uplink(2, 100)) // nobody has read this yet
		away := errors.New("gone")
		if noticed {
			b.offload.lose(away)
		}
		b.recorder.fail = func(int) error { return away }
		counted := &api.Session{Seid: 1, Urrs: plainSession(1).Urrs} // the usage of its URRs is read before it goes
		for _, c := range []*api.Change{{Seid: 1, Session: counted}, {Seid: 1}} {
			if err := b.apply(c); err != nil {
				t.Errorf("noticed %v: removed while it is away: %v", noticed, err)
			}
		}
		if err := b.apply(&api.Change{Seid: 2, Session: filteredSession(2, 1, 2)}); !errors.Is(err, away) {
			t.Errorf("noticed %v: changed while it is away: %v, want %v", noticed, err, away)
		}
		if n := b.usage(2); n != 100 {
			t.Errorf("noticed %v: usage is %d, want the 100 that were read", noticed, n)
		}
		if s := b.Target(); !errors.Is(s.Away, away) || s.All != 2 || time.Since(s.Since) > time.Minute {
			t.Errorf("noticed %v: %+v", noticed, s)
		}
		b.recorder.fail = nil
		c := b.connection.now.Load()
		c.kept = true
		b.check(b.begin(c))
		b.settle()
		if !strings.Contains(b.logged.String(), "in no usage\" sessions=1") {
			t.Errorf("noticed %v: logged %s", noticed, b.logged)
		}
		b.wantCPU(0, uplink(1, 100))
		b.wantTarget(0, uplink(2, 100), pdr{2, 1})
		if n := b.usage(2); n != 300 {
			t.Errorf("noticed %v: usage is %d, want 300", noticed, n)
		}
		if s := b.Target(); s.Away != nil || s.Sessions != 1 || s.All != 1 || s.Waiting != 0 || s.Handed[datapath.PassRules] != 1 {
			t.Errorf("noticed %v: %+v", noticed, s)
		}
		b.set(&api.Session{Seid: 2})
		b.settle()
		b.wantEmpty()
	}
}

func (f *fake) Capabilities(ctx context.Context, _ *p4rt.CapabilitiesRequest) (*p4rt.CapabilitiesResponse, error) {
	if f.hangs {
		<-ctx.Done()
	}
	return nil, status.Error(codes.Unimplemented, "an old one")
}

// TestAsk: one that hangs does not answer, one that does not know the call does.
func TestAsk(t *testing.T) {
	for _, hangs := range []bool{true, false} {
		f := &fake{hangs: hangs}
		c := f.client(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if !hangs {
			ctx = t.Context()
		}
		err := c.ask(ctx)
		cancel()
		if (err != nil) != hangs {
			t.Errorf("hangs %v: %v", hangs, err)
		}
	}
}

// reading is a target whose cells have all counted the same.
type reading struct {
	target
	packets uint64
	err     error
}

func (r *reading) read(_ context.Context, cells []cell) (map[cell]count, error) {
	all := map[cell]count{}
	for _, c := range cells {
		all[c] = count{packets: r.packets}
	}
	return all, r.err
}

// TestReasonCounts: what a target counts by reason goes on when it has restarted, and when its cells were emptied.
func TestReasonCounts(t *testing.T) {
	from := &reading{}
	counts := newReasonCounts(7, func(r datapath.Reason) bool { return r == datapath.DropMBR })
	broken := errors.New("broken")
	for i, step := range []struct {
		packets uint64
		err     error
		empty   func() error
		want    uint64
	}{
		{5, nil, nil, 5},
		{9, nil, nil, 9},
		{20, broken, nil, 9},
		{3, nil, nil, 12}, // it has restarted
		{7, nil, func() error { return broken }, 16},
		{8, nil, func() error { return nil }, 24},
		{8, nil, nil, 24},
	} {
		from.packets, from.err = step.packets, step.err
		if step.empty != nil {
			_ = counts.empty(step.empty)
		}
		if err := counts.read(t.Context(), from); !errors.Is(err, step.err) {
			t.Errorf("step %d: %v, want %v", i, err, step.err)
		}
		if all := counts.all(); all[datapath.DropMBR] != step.want || len(all) != 1 {
			t.Errorf("step %d: %v, want %d", i, all, step.want)
		}
	}
}

// TestTAPAccepts: a device gets frames to itself and to groups.
func TestTAPAccepts(t *testing.T) {
	r := &remote{taps: []*tap{{name: "n3"}, {name: "n6"}}}
	own, other := [6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2}
	frame := func(to [6]byte) []byte { return append(to[:], make([]byte, 8)...) }
	if !r.taps[0].accepts(frame(other)) {
		t.Error("not accepted while the address is not known")
	}
	r.setMACs([]afxdp.Port{{Name: "n3", MAC: own}, {Name: "eth9", MAC: other}})
	for _, tt := range []struct {
		name  string
		frame []byte
		want  bool
	}{
		{"own", frame(own), true},
		{"another", frame(other), false},
		{"broadcast", frame([6]byte{255, 255, 255, 255, 255, 255}), true},
		{"group", frame([6]byte{1, 0, 0x5e, 0, 0, 1}), true},
		{"short", frame(own)[:13], false},
	} {
		if got := r.taps[0].accepts(tt.frame); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if r.taps[1].mac.Load() != 0 {
		t.Error("an address of another device")
	}
}
