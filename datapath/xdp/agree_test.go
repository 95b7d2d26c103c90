package xdp

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// FuzzAgreesWithModel: whatever arrives, the programs and the model do the same
// with it, octet for octet, and count the same.
func FuzzAgreesWithModel(f *testing.F) {
	for _, port := range []conformance.Port{conformance.N3, conformance.N6} {
		for _, frame := range conformance.Frames(port) {
			f.Add(port == conformance.N3, frame)
		}
	}
	b := openBed(f, conformance.MaxSessions)
	m := stages.New(stages.Config{
		Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions, Hosts: conformance.HostAddresses, Now: monotonic,
		MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6,
	})
	for _, s := range conformance.Sessions() {
		c := &api.Change{Seid: s.GetSeid(), Session: s}
		if err := b.Apply(context.Background(), c); err != nil {
			f.Fatal(err)
		}
		if err := m.Apply(context.Background(), c); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, n3 bool, frame []byte) {
		// BPF_PROG_RUN takes no less and, in one page, no more.
		if len(frame) < inet.LenEthernet || len(frame) > 3000 {
			t.Skip()
		}
		port, slow := conformance.N6, m.FromN6
		if n3 {
			port, slow = conformance.N3, m.FromN3
		}
		want := slow(frame)
		got := b.Frame(t, port, bytes.Clone(frame))
		if got.Reason != want.Reason || !bytes.Equal(got.Packet, want.Packet) {
			t.Errorf("frame %x\nxdp   %v %x\nmodel %v %x", frame, got.Reason, got.Packet, want.Reason, want.Packet)
		}
		for _, s := range conformance.Sessions() {
			if diff := cmp.Diff(usageOf(t, m, s), usageOf(t, b, s), protocmp.Transform()); diff != "" {
				t.Errorf("usage of session %d (-model +xdp):\n%s", s.GetSeid(), diff)
			}
		}
	})
}

func usageOf(t *testing.T, d interface {
	Usage(uint64) (*api.SessionUsage, error)
}, s *api.Session,
) *api.SessionUsage {
	t.Helper()
	u, err := d.Usage(s.GetSeid())
	if err != nil {
		t.Fatal(err)
	}
	return u
}
