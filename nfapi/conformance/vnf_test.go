package conformance

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
)

// busyMAC wants a PDSCH in each downlink slot, and a PUSCH in each uplink slot.
type busyMAC struct {
	cell  cell.Config
	block []byte
}

func newBusyMAC(t testing.TB) *busyMAC {
	return &busyMAC{cell: testCell(t), block: make([]byte, 1000)}
}

func (m *busyMAC) Cell() *cell.Config         { return &m.cell }
func (m *busyMAC) Start()                     {}
func (m *busyMAC) Stop()                      {}
func (m *busyMAC) Indicate(*fapi.Indications) {}

func (m *busyMAC) Schedule(r *fapi.Requests) {
	if m.cell.TDD.UplinkSymbols(r.At) == slot.Symbols {
		r.Have = fapi.ULTTI
		r.ULTTI.PDUs = append(r.ULTTI.PDUs, nfapi.ULTTIPDU{Type: 1, PUSCH: nfapi.PUSCHPDU{PDUBitmap: 1, RNTI: 0x4601}})
		r.ULTTI.NULSCH = 1
		return
	}
	r.Have = fapi.DLTTI | fapi.TXData
	r.DLTTI.PDUs = append(r.DLTTI.PDUs, nfapi.DLTTIPDU{Type: 1, PDSCH: nfapi.PDSCHPDU{RNTI: 0x4601, NrOfCodewords: 1, TBSize: [2]uint32{1000}}})
	r.TXData.PDUs = append(r.TXData.PDUs, nfapi.TXDataPDU{PDULength: 1012, TLVs: []nfapi.TXDataTLV{{Length: 1000, Payload: m.block}}})
}

// testVNF runs cases against a VNF of ours.
func testVNF(t testing.TB, c Config, mac fapi.MAC) *Report {
	t.Helper()
	v, err := vnf.New(vnf.Config{
		Profile: c.Profile.String(), P5: vnf.P5{Address: local, Network: "tcp"},
		PNFs:     []vnf.PNF{{From: netip.MustParsePrefix("127.0.0.0/8"), PHYs: []vnf.PHY{{ID: 7, P7: local}}}},
		Timeouts: vnf.Timeouts{Answer: time.Second, Retry: 100 * time.Millisecond, Silence: time.Second, Sync: 10 * time.Millisecond},
	}, func(string, uint16) (fapi.MAC, error) { return mac, nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	background(t, "vnf", v.Run)
	c.Peer, c.Network, c.Address = VNF, "tcp", v.P5().String()
	c.Timeout, c.Connect, c.Patience = 4*time.Second, patience, patience
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVNF: ours passes all cases, in each profile; those of answers that do not come are
// the same in all.
func TestVNF(t *testing.T) {
	for _, p := range nfapi.Profiles() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			var skipped []string
			c := Config{Profile: p, Seed: 1}
			if p != nfapi.OAI2025 {
				c.Cases = "[^s]*"
			}
			if p == nfapi.Aerial {
				skipped = []string{"tick/sequence", "tick/checksum"}
			}
			r := testVNF(t, c, newBusyMAC(t))
			wholly(t, r, skipped...)
			if c.Cases == "" && len(r.Results) != len(Cases(VNF)) {
				t.Errorf("%d cases were run of %d", len(r.Results), len(Cases(VNF)))
			}
		})
	}
}
