package programs_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/upf"
)

// The second UE's MBR in kbit/s, both ways, and how much of it may come at once.
const (
	mbr   = 8_000
	burst = 50 * time.Millisecond
)

// bed is a UPF between two UEs behind a gNB and a data network. Both UEs' usage
// is measured by a URR; the second one has an MBR.
//
//	…-ue0 ── TUN ─┐
//	              ├─ gNB ─ n3 ── N3 ── n3 ─ UPF ─ n6 ── N6 ── n6 …-dn
//	…-ue1 ── TUN ─┘
type bed struct {
	*topology.Topology
	upf      *dut.Instance
	gnb      *gnb.GNB
	ues      []gnb.UE
	sessions []n4load.Session // of ues
	seen     [2]usage         // of ues, when it was looked at last
}

// newBed builds a bed and starts everything.
func newBed(t *testing.T, binary string, row row) *bed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-programs", OnAStick: row.onAStick, Offload: row.offload})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{Topology: top}
	b.startUPF(t, binary, row)
	for i := range 2 {
		name := fmt.Sprintf("ue%d", i)
		b.ues = append(b.ues, gnb.UE{
			Name: name, Namespace: programs.NewNamespace(t, "programs-"+name), QFI: 9, DownlinkTEID: 0x2001 + uint32(i),
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 64, 0, byte(1 + i)}), netip.MustParseAddr(fmt.Sprintf("fd64:0:0:%x::1", i))},
		})
	}
	b.establish(t)
	b.gnb = labtest.RunGNB(t, gnb.Config{UEs: b.ues, N3: gnb.N3{
		Address: b.N3.Peer.Address.Addr(), Namespace: b.GNB.Name, EchoInterval: time.Second, SuperPackets: row.super,
	}})
	return b
}

func (b *bed) startUPF(t *testing.T, binary string, row row) {
	t.Helper()
	kind := dut.Plumbline(row.datapath, func(c *upf.Config) {
		c.MeterBurst, c.TC.SuperPackets = upf.Duration(burst), row.super
		if row.mode != "" {
			c.XDP.Mode = row.mode
		}
	})
	kind.Path = binary
	d, err := dut.Start(t.Context(), kind, dut.At(b.Topology))
	if err != nil {
		t.Fatal(err)
	}
	b.upf = d
	t.Cleanup(func() {
		datapath, err := d.Datapath(context.Background())
		drops, dropsErr := d.Drops(context.Background())
		if err := errors.Join(err, dropsErr, d.Stop()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("UPF's datapath: %+v\ndrops: %v\n%s", datapath, drops, d.Log())
		}
	})
}

// establish makes the sessions over PFCP: the UPF chooses the uplink F-TEIDs.
func (b *bed) establish(t *testing.T) {
	t.Helper()
	smf := labtest.Associate(t, b.Topology)
	for i, ue := range b.ues {
		template := &n4load.Template{GNB: b.N3.Peer.Address.Addr(), QFI: pfcp.QFI(ue.QFI), URR: true}
		if i == 1 {
			template.MBR = pfcp.BitRates{UplinkKbps: mbr, DownlinkKbps: mbr}
		}
		b.sessions = append(b.sessions, labtest.Establish(t, smf, template, uint64(1+i), &b.ues[i]))
	}
}
