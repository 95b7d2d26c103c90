package p4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// TestSameAsBMv2: what plumb p4switch makes of frames is what BMv2 makes of them, octet by octet and count by count, by the
// same entries, which both return as they were written.
func TestSameAsBMv2(t *testing.T) {
	both := sides(t)
	all := entries(both[0].client.schema)
	for _, s := range both {
		s.write(t.Context(), t, all)
	}
	if t.Failed() {
		return
	}
	want := written(all)
	for _, s := range both {
		if d := cmp.Diff(want, s.entries(t)); d != "" {
			t.Errorf("%s: entries (-written +read):\n%s", s.name, d)
		}
	}
	for _, tr := range append(frameCases(), zeroSum(t, both[0])) {
		t.Run(tr.name, func(t *testing.T) {
			got := both[0].send(t, tr.port, tr.frame)
			if !tr.is(got) {
				t.Errorf("%s: got %q, want port %d, reason %d", both[0].name, got.Leaves, tr.to, tr.why)
			}
			if d := cmp.Diff(both[1].send(t, tr.port, tr.frame), got); d != "" {
				t.Errorf("(-%s +%s):\n%s", both[1].name, both[0].name, d)
			}
		})
	}
	for _, s := range both {
		select {
		case got := <-s.out:
			t.Errorf("%s: one more frame, %s", s.name, got)
		case got := <-s.in:
			t.Errorf("%s: one more frame, %s", s.name, got)
		default:
		}
	}
}

// TestBeginsAnewAsBMv2: a pipeline that is set again has no entries and has counted nothing, a meter has seen nothing, and a
// controller that comes next is told which pipeline it is.
func TestBeginsAnewAsBMv2(t *testing.T) {
	pipe, err := newPipeline(compiled.V1Model())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sides(t) {
		for range 2 {
			s.write(t.Context(), t, entries(s.client.schema))
			for _, c := range limitedCases() {
				if got := s.send(t, c.port, c.frame); !c.is(got) {
					t.Errorf("%s: %s: got %q, want port %d, reason %d", s.name, c.name, got, c.to, c.why)
				}
			}
			if err := s.client.setPipeline(t.Context(), pipe); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if all, moved := s.entries(t), s.moved(t); len(all) != 0 || len(moved) != 0 {
				t.Errorf("%s: %d entries, counters %v: want none", s.name, len(all), moved)
			}
		}
		next := &client{rpc: s.client.rpc, device: 1}
		if err := next.check(t.Context(), pipe, false); err != nil || !next.kept {
			t.Errorf("%s: got %v, kept %v, want the same pipeline", s.name, err, next.kept)
		}
	}
}

// is reports whether an outcome is in short what a frameCase is to end with.
func (tr *frameCase) is(o outcome) bool {
	var leaves, counted string
	switch {
	case tr.to != 0 && tr.port == cpuPort:
		return len(o.Leaves) == 1 && strings.HasPrefix(o.Leaves[0], fmt.Sprintf("port %d:", tr.to)) && o.Counts == nil
	case tr.to != 0:
		leaves, counted = fmt.Sprintf("port %d:", tr.to), counterForwarded+" "
	case tr.why.IsDrop():
		leaves, counted = "nothing", fmt.Sprintf("%s %d: 1, ", counterDropped, tr.why)
	default:
		leaves, counted = fmt.Sprintf("from port %02x, reason %02x: %x", tr.port, int(tr.why), tr.frame), fmt.Sprintf("handed %d: 1, ", tr.why)
	}
	return len(o.Leaves) == 1 && strings.HasPrefix(o.Leaves[0], leaves) &&
		slices.ContainsFunc(o.Counts, func(c string) bool { return strings.HasPrefix(c, counted) })
}

// zeroSum is a frame whose UDP checksum over IPv6 would be 0, if that did not mean that there is none.
func zeroSum(t *testing.T, s *side) frameCase {
	t.Helper()
	frame := down4(ueDown6, 40)
	last := len(frame) - 2
	binary.BigEndian.PutUint16(frame[last:], 0)
	left := s.send(t, 2, frame)
	const at = 2 * (14 + 40 + 6) // digits
	if len(left.Leaves) != 1 || len(left.Leaves[0]) < at+16 {
		t.Fatalf("got %v, want a frame over IPv6", left)
	}
	var sum uint16
	digits := left.Leaves[0][strings.IndexByte(left.Leaves[0], ' '):]
	digits = digits[strings.LastIndexByte(digits, ' ')+1:]
	if _, err := fmt.Sscanf(digits[at:at+4], "%04x", &sum); err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(frame[last:], sum) // what was missing
	return frameCase{"downlink over IPv6, checksum of zero", 2, frame, 1, 0}
}

// written are entries as text.
func written(updates []*p4rt.Update) (all []string) {
	for _, u := range updates {
		all = append(all, text(u.GetEntity().GetTableEntry()))
	}
	slices.Sort(all)
	return all
}

// text is an entry, its fields in the order of their ids.
func text(e *p4rt.TableEntry) string {
	slices.SortFunc(e.Match, func(a, b *p4rt.FieldMatch) int { return int(a.GetFieldId()) - int(b.GetFieldId()) })
	s := prototext.MarshalOptions{}.Format(e)
	return strings.Join(strings.Fields(s), " ")
}

// entries reads all entries of the pipeline's tables, but for default ones.
func (s *side) entries(t *testing.T) (all []string) {
	t.Helper()
	ask := &p4rt.ReadRequest{DeviceId: s.client.device, Entities: []*p4rt.Entity{
		{Entity: &p4rt.Entity_TableEntry{TableEntry: &p4rt.TableEntry{}}},
	}}
	stream, err := s.client.rpc.Read(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for _, e := range m.GetEntities() {
			if one := e.GetTableEntry(); !one.GetIsDefaultAction() {
				all = append(all, text(one))
			}
		}
	}
	slices.Sort(all)
	return all
}
