package xdp

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	traces "github.com/plumbline-upf/plumbline/datapath/trace"
	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
)

// openN6 is the bed with data networks and policies in another order, and pins.
func openN6(t *testing.T, pin string, order ...int) *bed {
	t.Helper()
	p, n6 := bedPorts(), datapath.N6{}
	all := p.n6
	p.n6 = nil
	for _, i := range order {
		p.n6 = append(p.n6, all[i])
		n6.Networks = append(n6.Networks, conformance.DataNetworks.Networks[i])
	}
	n6.Policies = slices.Clone(conformance.DataNetworks.Policies)
	n6.Policies[0].DataNetwork = "internet" // which is not the first one everywhere
	if order[0] != 0 {
		slices.Reverse(n6.Policies)
	}
	return openConfig(t, Config{MaxSessions: conformance.MaxSessions, Pin: pin, N6: n6, programs: []string{"upf_gtpu_xdp"}}, p)
}

// inNetwork is one of several sessions for packets to and from a data network.
func inNetwork(i uint32, networkInstance, policy string) *api.Session {
	s := benchSession(i, traces.Number4(conformance.GNBAddress))
	s.Rules[0].Forward.NetworkInstance, s.Rules[0].Forward.ForwardingPolicy = networkInstance, policy
	s.Rules[1].Detect.NetworkInstance = networkInstance
	return s
}

// upOf is an uplink packet of such a session.
func upOf(i uint32) []byte {
	up, _ := conformance.BenchFrames()
	up = bytes.Clone(up)
	binary.BigEndian.PutUint32(up[upTEIDAt:], benchTEID+i)
	binary.BigEndian.PutUint32(up[upAddressAt:], benchAddress+i)
	return up
}

// TestAdoptReordered: after a restart with the data networks in another order
// packets go to those that their rules mean, before their sessions are applied.
func TestAdoptReordered(t *testing.T) {
	pin := pinFor(t)
	sessions := []struct{ instance, policy string }{
		{"internet", ""}, {"corp", ""}, {"nat", ""}, {"internet", "steered"}, {"internet", "to-corp"},
	}
	b := openN6(t, pin, 0, 1, 2)
	var want []conformance.Outcome
	for i, s := range sessions {
		apply(t, b, inNetwork(uint32(i), s.instance, s.policy))
		b.Frame(t, conformance.N3, upOf(uint32(i))) // makes a mapping
		want = append(want, b.Frame(t, conformance.N3, upOf(uint32(i))))
		if want[i].Reason != datapath.ReasonNone || want[i].Ethernet == nil {
			t.Fatalf("before: %+v", want[i])
		}
	}
	for _, order := range [][]int{{0, 2, 1}, {2, 1, 0}} {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b = openN6(t, pin, order...)
		for i, s := range sessions {
			got := b.Frame(t, conformance.N3, upOf(uint32(i)))
			if diff := cmp.Diff(want[i], got); diff != "" || !b.adopting {
				t.Errorf("order %v, %v, adopting %v, before the session is applied (-want +got):\n%s", order, s, b.adopting, diff)
			}
			slot, _ := b.teids.find(datapath.Keys(inNetwork(uint32(i), s.instance, s.policy).GetRules()[0])[0].FTEID())
			was := b.teids.slots[slot].Ctl
			apply(t, b, inNetwork(uint32(i), s.instance, s.policy))
			if now := b.teids.slots[slot].Ctl; now != was {
				t.Errorf("order %v, %v: the rule was written although it is the same: %#x, was %#x", order, s, now, was)
			}
		}
		if err := b.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// pinFor returns a directory for pins, which goes with the test.
func pinFor(t *testing.T) string {
	t.Helper()
	pin := filepath.Join(bpffs.New(t), "pin")
	t.Cleanup(func() {
		if err := Unpin(pin); err != nil {
			t.Error(err)
		}
	})
	return pin
}

// TestAdoptWithoutNetwork: packets of a rule whose data network is not configured
// any more go nowhere, and its number is used again only when nobody has it.
func TestAdoptWithoutNetwork(t *testing.T) {
	pin := pinFor(t)
	up := upOf(0)
	b := openN6(t, pin, 0, 1, 2)
	apply(t, b, inNetwork(0, "corp", ""))
	number := b.named("corp").number()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	b = openBedWithout(t, pin, "other")
	if got := b.named("other").number(); got == number {
		t.Errorf("number %d, which is that of corp in the tables", got)
	}
	if got := b.Frame(t, conformance.N3, bytes.Clone(up)); got.Reason != datapath.DropNoPDR || got.Packet != nil {
		t.Errorf("of a data network that is gone: %v, %x", got.Reason, got.Packet)
	}
	if err := b.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openBedWithout(t, pin, "third")
	if got := b.named("third").number(); got != number {
		t.Errorf("number %d, want that of corp, %d, which nobody has", got, number)
	}
}

// openBedWithout is openN6 with another data network in the place of corp.
func openBedWithout(t *testing.T, pin, other string) *bed {
	t.Helper()
	n6 := datapath.N6{Networks: slices.Clone(conformance.DataNetworks.Networks), Policies: conformance.DataNetworks.Policies[:1]}
	n6.Networks[1].Name, n6.Networks[1].NetworkInstances = other, []string{other}
	return openConfig(t, Config{MaxSessions: conformance.MaxSessions, Pin: pin, N6: n6, programs: []string{"upf_gtpu_xdp"}}, bedPorts())
}

// TestAdoptMappings: connections go on by the mappings of before; what a killed
// process has left half made, and what does not fit the NAT of now, is not used.
func TestAdoptMappings(t *testing.T) {
	pin := pinFor(t)
	up := upOf(0)
	before := openN6(t, pin, 0, 1, 2)
	apply(t, before, inNetwork(0, "nat", ""))
	before.Frame(t, conformance.N3, bytes.Clone(up))
	want := before.Frame(t, conformance.N3, bytes.Clone(up))
	m := before.nat.slots[1]
	halfIn, halfOut := natKey(m.Network, m.Outside, m.OutsidePort+7, m.Protocol), natKey(m.Network, m.UE, m.UEPort+7, m.Protocol)
	if err := before.nat.in.Put(halfIn, uint32(1)); err != nil {
		t.Fatal(err)
	}
	if err := before.nat.out.Put(halfOut, uint32(9)); err != nil {
		t.Fatal(err)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	after := openN6(t, pin, 0, 2, 1)
	after.nat.tidy()
	checkMappings(t, after, 1)
	if got := after.Frame(t, conformance.N3, bytes.Clone(up)); cmp.Diff(want, got) != "" {
		t.Errorf("by the mapping of before (-want +got):\n%s", cmp.Diff(want, got))
	}
	other := bytes.Clone(up)
	const portAt = 14 + 20 + 8 + 16 + 20
	other[portAt]++ // another port of the UE
	if got := after.Frame(t, conformance.N3, other); got.Reason != datapath.ReasonNone || bytes.Equal(got.Packet[20:22], want.Packet[20:22]) {
		t.Errorf("another flow: %v, from port %x, that of the first is %x", got.Reason, got.Packet[20:22], want.Packet[20:22])
	}
	checkMappings(t, after, 2)
	after.slow.stages.N6.Expire(monotonic() + uint64(after.cfg.N6.Networks[1].NAT.TCP))
	checkMappings(t, after, 0)
	after.Frame(t, conformance.N3, bytes.Clone(up))
	if err := after.Close(); err != nil {
		t.Fatal(err)
	}

	// Another address outside: the mapping is nobody's.
	n6 := datapath.N6{Networks: slices.Clone(conformance.DataNetworks.Networks), Policies: conformance.DataNetworks.Policies}
	n6.Networks[2].NAT = datapath.DefaultNAT(netip.MustParsePrefix("198.51.100.64/30"))
	last := openConfig(t, Config{MaxSessions: conformance.MaxSessions, Pin: pin, N6: n6, programs: []string{"upf_gtpu_xdp"}}, bedPorts())
	last.nat.tidy()
	checkMappings(t, last, 0)
}

// checkMappings: as many mappings are in the NAT and in both indices.
func checkMappings(t *testing.T, b *bed, want int) {
	t.Helper()
	in, err := indexed(b.nat.in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := indexed(b.nat.out)
	if err != nil {
		t.Fatal(err)
	}
	nat := b.nat.nats[b.named("nat").index]
	blocks, _ := nat.Blocks()
	if held, ues := nat.Mappings(); held != want || ues != min(want, 1) || blocks != min(want, 1) || b.nat.use().Used != want {
		t.Errorf("%d mappings of %d UEs in %d blocks, %d slots used; want %d", held, ues, blocks, b.nat.use().Used, want)
	}
	if len(in) != want || len(out) != want {
		t.Errorf("%d and %d mappings are indexed, want %d", len(in), len(out), want)
	}
}
