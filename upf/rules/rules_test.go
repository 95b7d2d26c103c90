package rules

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// driver is a datapath that remembers the last change and answers with err.
type driver struct {
	change *api.Change
	err    error
}

func (d *driver) Capabilities() *api.Capabilities { return nil }
func (d *driver) Apply(_ context.Context, c *api.Change) error {
	d.change = proto.Clone(c).(*api.Change)
	return d.err
}
func (d *driver) Usage(uint64) (*api.SessionUsage, error) { return nil, nil }
func (d *driver) Drops() (map[string]uint64, error)       { return nil, nil }
func (d *driver) Close() error                            { return nil }

// TestCompile: every field of a session arrives where the datapath reads it.
func TestCompile(t *testing.T) {
	s := &session.Session{
		SEID: 0xfedcba9876543210,
		PDRs: []session.PDR{
			{
				ID: 7, Precedence: 10, FARID: 70, QERIDs: []uint32{3, 1}, OuterHeaderRemoval: true,
				PDI: session.PDI{
					SourceInterface: session.Access, FTEID: session.FTEID{TEID: 0xa1b2c3d4, IPv4: session.IPv4{10, 3, 0, 1}},
					UEAddress: session.UEAddress{IPv6Prefix: session.IPv6Prefix{0x20, 1, 0xd, 0xb8, 0, 0x45, 0, 2}},
					QFIs:      1<<1 | 1<<63, NetworkInstance: "access",
				},
			},
			{
				ID: 8, Precedence: 20, FARID: 80,
				PDI: session.PDI{SourceInterface: session.Core, UEAddress: session.UEAddress{
					IPv4: session.IPv4{10, 45, 0, 2}, IPv6Prefix: session.IPv6Prefix{0x20, 1, 0xd, 0xb8, 0, 0x45, 0, 2}}},
			},
			{
				ID: 9, Precedence: 30, FARID: 90,
				PDI: session.PDI{SourceInterface: session.Core, UEAddress: session.UEAddress{IPv4: session.IPv4{10, 45, 0, 3}}},
			},
		},
		FARs: []session.FAR{
			{ID: 70, ApplyAction: session.Forward, HasForwarding: true, Forwarding: session.ForwardingParameters{
				DestinationInterface: session.Core, NetworkInstance: "internet"}},
			{ID: 80, ApplyAction: session.Forward, HasForwarding: true, Forwarding: session.ForwardingParameters{
				DestinationInterface: session.Access, DSCP: session.Some(uint8(0)),
				OuterHeaderCreation: session.OuterHeaderCreation{TEID: 5, IPv4: session.IPv4{10, 3, 0, 2}}}},
			{ID: 90, ApplyAction: session.Drop, HasForwarding: true, Forwarding: session.ForwardingParameters{
				DestinationInterface: session.Access, OuterHeaderCreation: session.OuterHeaderCreation{TEID: 5}}},
		},
		QERs: []session.QER{
			{ID: 1, QFI: 9, HasMBR: true, MBR: session.Rate{Uplink: 1_000_000, Downlink: 2_000_000}},
			{ID: 2, QFI: 1}, // no PDR names it
			{ID: 3, DownlinkGateClosed: true, HasMBR: true, MBR: session.Rate{Downlink: 1}}, // nothing conforms uplink
		},
	}
	zero := uint32(0)
	want := &api.Session{
		Seid: 0xfedcba9876543210,
		Rules: []*api.Rule{
			{
				PdrId: 7, Precedence: 10, FarId: 70, QerIds: []uint32{3, 1}, OuterHeaderRemoval: true,
				Detect: &api.Detect{
					SourceInterface: api.Interface_ACCESS, NetworkInstance: "access", Qfis: []uint32{1, 63},
					FTeid:     &api.FTEID{Teid: 0xa1b2c3d4, Ipv4: 0x0a030001},
					UeAddress: &api.UEAddress{Ipv6Prefix: 0x20010db800450002},
				},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: "internet"},
			},
			{
				PdrId: 8, Precedence: 20, FarId: 80,
				Detect: &api.Detect{SourceInterface: api.Interface_CORE,
					UeAddress: &api.UEAddress{Ipv4: 0x0a2d0002, Ipv6Prefix: 0x20010db800450002}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS, Dscp: &zero,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 5, Ipv4: 0x0a030002}},
			},
			{
				PdrId: 9, Precedence: 30, FarId: 90,
				Detect:  &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0003}},
				Forward: &api.Forward{Action: api.Action_DROP},
			},
		},
		Qers: []*api.QER{
			{Id: 1, Qfi: 9, UplinkMbrBps: 1_000_000, DownlinkMbrBps: 2_000_000},
			{Id: 3, UplinkGateClosed: true, DownlinkGateClosed: true, DownlinkMbrBps: 1},
		},
	}
	d := new(driver)
	c := Compiler{Bus: bus.InProcess{Driver: d}}
	if err := c.Install(t.Context(), &session.Change{Session: s}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&api.Change{Seid: s.SEID, Session: want}, d.change, protocmp.Transform()); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	if err := c.Remove(t.Context(), s.SEID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&api.Change{Seid: s.SEID}, d.change, protocmp.Transform()); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// TestErrors: what a datapath says against a rule is what the CP function hears.
func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want session.Error // without Err
	}{
		{&datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: 2, Err: datapath.ErrClash},
			session.Error{Cause: session.CauseRuleFailure, HasRule: true, Rule: session.RulePDR, RuleID: 2}},
		{fmt.Errorf("xdp: %w", &datapath.RuleError{Type: api.RuleType_FAR_RULE, ID: 3, Err: datapath.ErrUnsupported}),
			session.Error{Cause: session.CauseRuleFailure, HasRule: true, Rule: session.RuleFAR, RuleID: 3}},
		{&datapath.RuleError{Type: api.RuleType_QER_RULE, ID: 4, Err: datapath.ErrFull},
			session.Error{Cause: session.CauseNoResources, HasRule: true, Rule: session.RuleQER, RuleID: 4}},
		{fmt.Errorf("xdp: %w", datapath.ErrFull), session.Error{Cause: session.CauseNoResources}},
		{datapath.ErrUnsupported, session.Error{Cause: session.CauseServiceNotSupported}},
		{errors.New("bpf: no memory"), session.Error{Cause: session.CauseSystemFailure}},
	} {
		c := Compiler{Bus: bus.InProcess{Driver: &driver{err: tc.err}}}
		for name, err := range map[string]error{
			"Install": c.Install(t.Context(), &session.Change{Session: &session.Session{SEID: 1}}),
			"Remove":  c.Remove(t.Context(), 1),
		} {
			var got *session.Error
			if !errors.As(err, &got) {
				t.Fatalf("%s, %v: %v is no session.Error", name, tc.err, err)
			}
			for _, reason := range []error{datapath.ErrClash, datapath.ErrFull, datapath.ErrUnsupported} {
				if errors.Is(err, reason) != errors.Is(tc.err, reason) {
					t.Errorf("%s, %v: %v; want it to wrap what the datapath's error does", name, tc.err, err)
				}
			}
			got.Err = nil
			if *got != tc.want {
				t.Errorf("%s, %v: got %+v, want %+v", name, tc.err, *got, tc.want)
			}
		}
	}
}

func (*driver) Next(ctx context.Context) (*api.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (*driver) Settle(context.Context) error { return nil }

// TestFinite: a rate that no link has limits nothing and guarantees nothing.
func TestFinite(t *testing.T) {
	for _, tc := range []struct {
		rate session.BitsPerSecond
		want uint64
	}{{0, 0}, {64_000, 64_000}, {datapath.MaxMBR, datapath.MaxMBR}, {datapath.MaxMBR + 1000, 0}, {4_000_000_000_000, 0}} {
		if got := finite(tc.rate); got != tc.want {
			t.Errorf("%d bit/s: %d, want %d", tc.rate, got, tc.want)
		}
	}
}
