package stopwatch

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// asJSON writes and reads a snapshot.
func asJSON(t *testing.T, s *Snapshot) *Snapshot {
	t.Helper()
	back, err := Read(strings.NewReader(written(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	return back.Merged()
}

func written(t testing.TB, s *Snapshot) string {
	t.Helper()
	var b strings.Builder
	if err := NewResult([]*Snapshot{s}).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestJSON: what is read is what was written.
func TestJSON(t *testing.T) {
	s := filled().Snapshot("pnf")
	s.Started, s.At = s.Started.UTC().Round(0), s.At.UTC().Round(0) // without the monotonic clock
	if diff := cmp.Diff(s, asJSON(t, s)); diff != "" {
		t.Error(diff)
	}
}

// TestMerge: two watches merged, and one taken away again, are the other one.
func TestMerge(t *testing.T) {
	a, b := filled(), filled()
	b.Request(nfapi.MsgULDCIRequest, Late, -time.Millisecond)
	b.Tick(time.Second, 1)
	x, y := a.Snapshot("pnf"), b.Snapshot("vnf")
	both := x.Merge(y)
	if both.Name != "pnf, vnf" || both.Started != x.Started || both.At != y.At {
		t.Errorf("got %s from %v to %v", both.Name, both.Started, both.At)
	}
	if got := both.Message(nfapi.MsgULDCIRequest).Counts; got != (Counts{Late: 1}) {
		t.Errorf("got %+v", got)
	}
	if got, want := both.Clock.Slots, uint64(5); got != want {
		t.Errorf("got %d slots, want %d", got, want)
	}
	if diff := cmp.Diff(x.Merge(y).Messages, y.Merge(x).Messages); diff != "" {
		t.Errorf("the order matters: %s", diff)
	}
	rest := both.Since(x)
	if rest.Clock.Slots != y.Clock.Slots || rest.ToPNF != y.ToPNF || len(rest.Parts) != len(y.Parts) {
		t.Errorf("got %+v, want %+v", rest, y)
	}
	for i := range y.Messages {
		got := rest.Message(y.Messages[i].ID)
		if got.Counts != y.Messages[i].Counts || got.Lead.Total() != y.Messages[i].Lead.Total() || got.Handled.Total() != y.Messages[i].Handled.Total() {
			t.Errorf("got %+v, want %+v", got, y.Messages[i])
		}
	}
}

func TestReadErrors(t *testing.T) {
	good := written(t, filled().Snapshot("pnf"))
	for name, text := range map[string]string{
		"nothing":      "",
		"no JSON":      "{",
		"other schema": strings.Replace(good, Schema, "plumbline.probe/1", 1),
		"count":        strings.Replace(good, `"count":2`, `"count":3`, 1),
		"bucket":       strings.Replace(good, `"buckets":[[`, `"buckets":[[9,8,1],[`, 1),
		"too long":     good + strings.Repeat(" ", maxFile),
	} {
		if text == good {
			t.Fatalf("%s: nothing is different", name)
		}
		if r, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// FuzzRead: what is taken can be subtracted, merged, shown and written, and
// is the same when it is read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(written(f, filled().Snapshot("pnf"))))
	f.Add([]byte(`{"schema":"` + Schema + `","watches":[{"messages":[{"id":0},{"id":65535}],"parts":[{"part":"x"}]},null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		s := r.Merged()
		if err := s.Print(io.Discard); err != nil {
			t.Error(err)
		}
		if d := s.Merge(s).Since(s); d.Clock.Slots != s.Clock.Slots && s.Clock.Slots < 1<<63 {
			t.Errorf("got %d slots, want %d", d.Clock.Slots, s.Clock.Slots)
		}
		again := asJSON(t, s)
		if diff := cmp.Diff(s, again); diff != "" {
			t.Error(diff)
		}
	})
}
