package vector

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
)

// FuzzAgreesWithModel: whatever the rules are and whatever arrives, several frames at
// once too, the engine and the model do the same with it, octet for octet, and count
// the same.
func FuzzAgreesWithModel(f *testing.F) {
	for _, port := range []conformance.Port{conformance.N3, conformance.N6} {
		for _, frame := range conformance.Frames(port) {
			f.Add([]byte{}, port == conformance.N3, frame)
		}
	}
	for i := range byte(20) {
		shape := make([]byte, 200)
		for j := range shape {
			shape[j] = byte(j)*(2*i+1) + i*i
		}
		f.Add(shape, i%2 == 0, []byte{})
	}
	n3, n6 := conformance.ShapeFrames()
	f.Fuzz(func(t *testing.T, shape []byte, fromN3 bool, frame []byte) {
		if len(frame) > 3000 || len(shape) > 1000 {
			t.Skip()
		}
		b, o := openRandom(t, false)
		seids := map[uint64]bool{}
		for _, c := range shapeChanges(shape) {
			seids[c.GetSeid()] = true
			want, got := o.Apply(context.Background(), c), b.Apply(context.Background(), c)
			if !random.SameRefusal(want, got) {
				t.Fatalf("applied: model %v, vector %v", want, got)
			}
		}
		port, frames := conformance.N6, n6
		if fromN3 {
			port, frames = conformance.N3, n3
		}
		if len(shape) == 0 {
			frames = nil
		}
		b.sent, o = nil, sentNothing(t, o)
		together(t, port, append(frames[:len(frames):len(frames)], frame), b, o)
		for seid := range seids {
			want, wantErr := o.Usage(seid)
			got, err := b.Usage(seid)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("usage of session %d: %v, want %v", seid, err, wantErr)
			}
			if !proto.Equal(want, got) {
				t.Errorf("usage of session %d (-model +vector):\n%s", seid, cmp.Diff(want, got, protocmp.Transform()))
			}
		}
	})
}

func sentNothing(t *testing.T, o *random.Stages) *random.Stages {
	o.Sent(t)
	return o
}

// shapeChanges are those of the shape, or the sessions of the packet table.
func shapeChanges(shape []byte) []*api.Change {
	if len(shape) > 0 {
		return conformance.Shape(shape)
	}
	var all []*api.Change
	for _, s := range conformance.Sessions() {
		all = append(all, &api.Change{Seid: s.GetSeid(), Session: s})
	}
	return all
}

// together lets frames arrive as one vector, and one after the other at the model.
func together(t *testing.T, port conformance.Port, frames [][]byte, b *bed, o *random.Stages) {
	t.Helper()
	var in []*Packet
	var want [][]byte
	for _, frame := range frames {
		p, reason := b.arrive(port, frame)
		one := o.Frame(t, port, bytes.Clone(frame))
		if one.Reason == datapath.ReasonNone {
			want = append(want, one.Packet)
		}
		want = append(want, o.Sent(t)...)
		if reason == datapath.ReasonNone {
			in = append(in, p)
		}
	}
	var got [][]byte
	b.worker.Run(in, func(out []*Packet) {
		for _, p := range out {
			got = append(got, wire(p))
		}
	})
	if !slices.EqualFunc(want, got, bytes.Equal) {
		t.Errorf("what leaves (-model +vector):\n%s", cmp.Diff(want, got))
	}
}
