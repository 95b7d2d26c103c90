package xdp

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// FuzzShapesAgreeWithModel: whatever sessions come, change and go, the programs
// with their slow path and the model take and refuse the same, forward and drop
// the same, and count the same.
func FuzzShapesAgreeWithModel(f *testing.F) {
	f.Add([]byte{})
	for i := range byte(40) {
		seed := make([]byte, 200)
		for j := range seed {
			seed[j] = byte(j)*(2*i+1) + i*i
		}
		f.Add(seed)
	}
	n3, n6 := conformance.ShapeFrames()
	b := openBed(f, conformance.MaxSessions)
	f.Fuzz(func(t *testing.T, shape []byte) {
		var released [][]byte
		m := stages.New(stages.Config{
			Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions, Hosts: conformance.HostAddresses, Now: monotonic,
			MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6, Secret: conformance.Secret,
			Send: func(packet []byte) { released = append(released, packet) },
		})
		held := map[uint64]bool{}
		for _, c := range conformance.Shape(shape) {
			wantErr, gotErr := m.Apply(context.Background(), c), b.Apply(context.Background(), c)
			if !sameRefusal(wantErr, gotErr) {
				t.Fatalf("change %v\nmodel %v\nxdp   %v", c, wantErr, gotErr)
			}
			if wantErr == nil {
				held[c.GetSeid()] = c.GetSession() != nil
			}
			if sent := b.Sent(t); !cmp.Equal(released, sent) {
				t.Errorf("change %v\nmodel sent %x\nxdp   sent %x", c, released, sent)
			}
			released = nil
			// Whether a rule's counts survive a change of its match is open, so
			// what counts is what the frames add.
			before := [2]map[uint64]*api.SessionUsage{usages(t, m, held), usages(t, b, held)}
			for _, frame := range n3 {
				compareFrame(t, b, m, conformance.N3, frame)
			}
			for _, frame := range n6 {
				compareFrame(t, b, m, conformance.N6, frame)
			}
			want, got := usages(t, m, held), usages(t, b, held)
			for seid := range want {
				if diff := cmp.Diff(added(before[0][seid], want[seid]), added(before[1][seid], got[seid]), protocmp.Transform()); diff != "" {
					t.Errorf("usage of session %d (-model +xdp):\n%s", seid, diff)
				}
			}
			b.Sent(t)
			released = nil
		}
		for seid, is := range held {
			if is {
				if err := b.Apply(context.Background(), &api.Change{Seid: seid, DropBuffered: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.Sent(t)
	})
}

// sameRefusal: about the same rule, for the same reason.
func sameRefusal(a, b error) bool {
	var ra, rb *datapath.RuleError
	if errors.As(a, &ra) != errors.As(b, &rb) || ra != nil && (ra.Type != rb.Type || ra.ID != rb.ID) {
		return false
	}
	for _, is := range []error{datapath.ErrClash, datapath.ErrFull, datapath.ErrNoRule, datapath.ErrNoSession, datapath.ErrUnsupported} {
		if errors.Is(a, is) != errors.Is(b, is) {
			return false
		}
	}
	return (a == nil) == (b == nil)
}

func compareFrame(t *testing.T, b *bed, m *stages.UPF, port conformance.Port, frame []byte) {
	t.Helper()
	slow := m.FromN6
	if port == conformance.N3 {
		slow = m.FromN3
	}
	want, got := slow(frame), b.Frame(t, port, bytes.Clone(frame))
	if got.Reason != want.Reason || !bytes.Equal(got.Packet, want.Packet) {
		t.Errorf("frame %x\nmodel %v %x\nxdp   %v %x", frame, want.Reason, want.Packet, got.Reason, got.Packet)
	}
}

// usages returns what was counted for the sessions that are there.
func usages(t *testing.T, d interface {
	Usage(uint64) (*api.SessionUsage, error)
}, held map[uint64]bool,
) map[uint64]*api.SessionUsage {
	t.Helper()
	all := map[uint64]*api.SessionUsage{}
	for seid, is := range held {
		if is {
			all[seid] = usageOf(t, d, &api.Session{Seid: seid})
		}
	}
	return all
}

// added returns after with the counts of its rules less those of before.
func added(before, after *api.SessionUsage) *api.SessionUsage {
	for i, r := range after.GetRules() {
		b := before.GetRules()[i]
		r.Packets -= b.GetPackets()
		r.Octets -= b.GetOctets()
		r.DroppedPackets -= b.GetDroppedPackets()
	}
	return after
}
