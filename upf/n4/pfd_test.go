package n4

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// manage sends a PFD Management Request and returns the response.
func (c *client) manage(m *pfcp.PFDManagementRequest) (r pfcp.PFDManagementResponse) {
	c.t.Helper()
	c.do(0, m, &r)
	return r
}

// TestPFDManagement: what is provisioned, replaced, removed and refused.
func TestPFDManagement(t *testing.T) {
	store := newMemoryStore()
	b := newBed(t, Config{Store: store, MaxApplications: 3})
	c, other, stranger := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3"), b.client(t, "127.0.0.4")
	c.associate("127.0.0.2", recoveryTime)
	other.associate("127.0.0.3", recoveryTime)
	const web, dns = "permit out tcp from any 443 to assigned", "permit out udp from 192.0.2.53 53 to assigned"
	custom := pfdRequest("bad", web)
	custom.Applications[0].Contexts[0].Contents[0].CustomPFDContent = []byte("x")
	mixed := pfdRequest("three", web)
	mixed.Applications = append(mixed.Applications, custom.Applications...)
	for _, tc := range []struct {
		name string
		from *client
		in   *pfcp.PFDManagementRequest
		want pfcp.Cause
		apps int // afterwards
	}{
		{"of a stranger", stranger, pfdRequest("one", web), pfcp.CauseNoEstablishedPFCPAssociation, 0},
		{"one", c, pfdRequest("one", web, dns), pfcp.CauseRequestAccepted, 1},
		{"again", c, pfdRequest("one", dns), pfcp.CauseRequestAccepted, 1},
		{"of another CP function", other, pfdRequest("two", web), pfcp.CauseRequestAccepted, 2},
		{"Custom PFD Content", c, custom, pfcp.CauseServiceNotSupported, 2},
		{"one good, one bad", c, mixed, pfcp.CauseServiceNotSupported, 2},
		{"no flow", c, pfdRequest("three", "deny out ip from any to any"), pfcp.CauseServiceNotSupported, 2},
		{"three", c, pfdRequest("three", web), pfcp.CauseRequestAccepted, 3},
		{"too many", c, pfdRequest("four", web), pfcp.CauseNoResourcesAvailable, 3},
		{"one removed", c, pfdRequest("three"), pfcp.CauseRequestAccepted, 2},
		{"all of one CP function removed", c, &pfcp.PFDManagementRequest{}, pfcp.CauseRequestAccepted, 1},
	} {
		if r := tc.from.manage(tc.in); r.Cause != tc.want || r.OffendingIE.Present != (tc.want == pfcp.CauseServiceNotSupported || tc.want == pfcp.CauseNoResourcesAvailable) {
			t.Errorf("%s: %v, IE %v; want %v", tc.name, r.Cause, r.OffendingIE, tc.want)
		}
		if got := b.sessions.Applications(); got != tc.apps || len(store.of(KindPFDs)) != tc.apps {
			t.Errorf("%s: %d applications, %d in the store; want %d", tc.name, got, len(store.of(KindPFDs)), tc.apps)
		}
	}
	var r pfcp.AssociationReleaseResponse
	other.do(0, &pfcp.AssociationReleaseRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.3")}}, &r)
	if got := b.sessions.Applications(); got != 0 || len(store.of(KindPFDs)) != 0 {
		t.Errorf("%d applications after the association of their CP function ended, want 0", got)
	}
}

// TestPFDOctets: PFDs are bounded in octets, of a CP function and of all; what takes their
// place counts, and what makes them less is taken.
func TestPFDOctets(t *testing.T) {
	const web = "permit out tcp from any 443 to assigned"
	one := pfdOctets("a0", []flow{{description: web}})
	b := newBed(t, Config{MaxPFDOctetsPerPeer: 2 * one, MaxPFDOctets: 3 * one})
	c, other := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
	c.associate("127.0.0.2", recoveryTime)
	other.associate("127.0.0.3", recoveryTime)
	for _, tc := range []struct {
		name string
		from *client
		in   *pfcp.PFDManagementRequest
		want pfcp.Cause
	}{
		{"first", c, pfdRequest("a0", web), pfcp.CauseRequestAccepted},
		{"second", c, pfdRequest("a1", web), pfcp.CauseRequestAccepted},
		{"third of one CP function", c, pfdRequest("a2", web), pfcp.CauseNoResourcesAvailable},
		{"again", c, pfdRequest("a1", web), pfcp.CauseRequestAccepted},
		{"more of the second", c, pfdRequest("a1", web, web), pfcp.CauseNoResourcesAvailable},
		{"first of another", other, pfdRequest("b0", web), pfcp.CauseRequestAccepted},
		{"more than all", other, pfdRequest("b1", web), pfcp.CauseNoResourcesAvailable},
		{"removed", c, pfdRequest("a1"), pfcp.CauseRequestAccepted},
		{"in its place", other, pfdRequest("b1", web), pfcp.CauseRequestAccepted},
	} {
		if r := tc.from.manage(tc.in); r.Cause != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, r.Cause, tc.want)
		}
	}
}

// TestPFDsAtOnce: requests of several CP functions at once have no more room together than
// one after the other.
func TestPFDsAtOnce(t *testing.T) {
	const web = "permit out tcp from any 443 to assigned"
	flows := []flow{{description: web}}
	b := newBed(t, Config{MaxPFDOctets: 3 * pfdOctets("a0", flows)})
	refused := make([]error, 8)
	var all sync.WaitGroup
	for i := range refused {
		all.Go(func() {
			refused[i] = b.provision(fmt.Sprint("cp", i), map[string][]flow{fmt.Sprint("a", i): flows})
		})
	}
	all.Wait()
	n := 0
	for _, err := range refused {
		if errors.Is(err, errPFDOctets) {
			n++
		} else if err != nil {
			t.Error(err)
		}
	}
	if got := b.sessions.Applications(); got != 3 || n != 5 {
		t.Errorf("%d applications, %d refused: want 3 and 5", got, n)
	}
}
