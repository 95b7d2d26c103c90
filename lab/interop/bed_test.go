package interop

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/faulty"
	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

func TestMain(m *testing.M) {
	faulty.Main()
	os.Exit(m.Run())
}

// testBed is a UPF between UEs behind a gNB and a data network.
//
//	…-ue0 ── TUN ─┐
//	              ├─ gNB ─ n3 ── N3 ── n3 ─ UPF ─ n6 ── N6 ── n6 …-dn
//	…-ue1 ── TUN ─┘
type testBed struct {
	*topology.Topology
	upf *dut.Instance
	ues []gnb.UE
}

// newTestBed starts everything, with two UEs, that have IPv6 as well if that is wanted,
// and an MBR of both ways in kbit/s; 0: none.
func newTestBed(t *testing.T, kind dut.Kind, ipv6 bool, mbr uint64) *testBed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-interop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &testBed{Topology: top}
	if b.upf, err = dut.Start(t.Context(), kind, dut.At(top)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.upf.Log())
		}
		if kind.Own {
			if err := b.upf.Stop(); err != nil {
				t.Error(err)
			}
			return
		}
		_ = b.upf.Kill() // it knows no other end
		_ = b.upf.Stop()
	})
	for i := range 2 {
		u := gnb.UE{
			Name: fmt.Sprintf("ue%d", i), Namespace: programs.NewNamespace(t, fmt.Sprintf("interop-ue%d", i)), QFI: 9, DownlinkTEID: 0x2001 + uint32(i),
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 64, 0, byte(1 + i)})},
		}
		if ipv6 {
			u.Addresses = append(u.Addresses, netip.MustParseAddr(fmt.Sprintf("fd64:0:0:%x::1", i)))
		}
		b.ues = append(b.ues, u)
	}
	b.establish(t, mbr)
	labtest.RunGNB(t, gnb.Config{N3: gnb.N3{Address: b.N3.Peer.Address.Addr(), Namespace: b.GNB.Name}, UEs: b.ues})
	return b
}

// establish makes the sessions over PFCP: the UPF chooses the uplink F-TEIDs.
func (b *testBed) establish(t *testing.T, mbr uint64) {
	t.Helper()
	smf := labtest.Associate(t, b.Topology)
	for i, u := range b.ues {
		template := &n4load.Template{GNB: b.N3.Peer.Address.Addr(), QFI: pfcp.QFI(u.QFI)}
		if mbr != 0 {
			template.MBR = pfcp.BitRates{UplinkKbps: mbr, DownlinkKbps: mbr}
		}
		labtest.Establish(t, smf, template, uint64(1+i), &b.ues[i])
	}
}

// config is what a user would say of the bed.
func (b *testBed) config(ues int) Config {
	c := Config{
		DN: b.N6.Peer.Address.Addr(), Servers: true, DNNamespace: b.DN.Name, CommandTime: 10 * time.Second, Settle: 100 * time.Millisecond,
	}
	for _, u := range b.ues[:ues] {
		c.UEs = append(c.UEs, UE{u.Namespace, u.Name})
		if len(u.Addresses) > 1 {
			c.DN6 = b.N6.Peer.Address6.Addr()
		}
	}
	return c
}
