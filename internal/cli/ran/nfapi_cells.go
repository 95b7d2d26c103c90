package rancmd

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// Each PHY of a VNF or PNF is a cell of its own. A file with one PHY has its cell at the
// top level; a file with several has a list, cells:, with an entry for each.

// nfapiPHYName is which PHY a cell is of.
type nfapiPHYName struct {
	pnf string // "" in the file of a PNF
	phy uint16
}

// String returns "phy 1 of pnf0", or "phy 1".
func (n nfapiPHYName) String() string {
	if n.pnf == "" {
		return fmt.Sprintf("phy %d", n.phy)
	}
	return fmt.Sprintf("phy %d of %s", n.phy, n.pnf)
}

// nfapiVNFCell is an entry of cells: in the file of a VNF.
type nfapiVNFCell struct {
	PNF string   `yaml:"pnf"` // "": the only one
	PHY uint16   `yaml:"phy"`
	GNB nfapiGNB `yaml:",inline"`
}

// SetDefaults has keys that are absent be defaults.
func (c *nfapiVNFCell) SetDefaults() { c.GNB = newNFAPIGNB() }

// nfapiPNFCell is an entry of cells: in the file of a PNF.
type nfapiPNFCell struct {
	PHY uint16      `yaml:"phy"`
	Air nfapiPNFAir `yaml:",inline"`
}

// nfapiPNFAir is what is below a PHY.
type nfapiPNFAir struct {
	Radio radio.Config `yaml:"radio"`
	Air   phy.Config   `yaml:"air"`
}

// SetDefaults has keys that are absent be defaults.
func (c *nfapiPNFCell) SetDefaults() { c.Air = newNFAPIPNFAir() }

// newNFAPIPNFAir has the defaults of the keys.
func newNFAPIPNFAir() nfapiPNFAir { return nfapiPNFAir{Radio: radio.Default()} }

// cellKey is where the file has a cell: "", or an entry of cells:.
func cellKey(i int) string { return fmt.Sprintf("cells[%d]", i) }

// oneCellEach assigns cells to PHYs: that of the top level, if it is none of the
// defaults, belongs to the only PHY, others to the one that they name. What it cannot
// assign it notes.
func oneCellEach[T any](m *yamltext.Checks, phys []nfapiPHYName, top, none T, names []nfapiPHYName, cells []T) map[nfapiPHYName]T {
	of := make(map[nfapiPHYName]T, len(cells))
	if len(cells) == 0 {
		if len(phys) > 1 {
			m.Note("cells", "%d phys, and the one cell of the top level: write an entry of cells: for each", len(phys))
		} else if len(phys) == 1 {
			of[phys[0]] = top
		}
		return of
	}
	if !reflect.DeepEqual(top, none) {
		m.Note("", "a cell at the top level (radio, core, air) beside the %d of cells:", len(cells))
	}
	for i, name := range names {
		if _, twice := of[name]; twice {
			m.Note(cellKey(i), "two for %v", name)
		} else if !slices.Contains(phys, name) {
			m.Note(cellKey(i), "there is no %v: %v are the names", name, phys)
		}
		of[name] = cells[i]
	}
	for _, name := range phys {
		if _, ok := of[name]; !ok {
			m.Note("cells", "none for %v", name)
		}
	}
	return of
}

// distinctUEs notes an address that UEs of two cells have: behind them is one network.
func distinctUEs(m *yamltext.Checks, names []nfapiPHYName, cell func(int) *radio.Config) {
	of := make(map[netip.Addr]int)
	for i, name := range names {
		for j, u := range cell(i).UEs {
			for k, a := range u.Addresses {
				if other, taken := of[a]; taken && other != i {
					m.Note(fmt.Sprintf("%s.radio.ues[%d].addresses[%d]", cellKey(i), j, k), "%v and %v both have a ue with address %v", names[other], name, a)
				}
				of[a] = i
			}
		}
	}
}

// claims are what parts of a configuration make or open each for itself, and the keys of
// these: a second one would be refused by the kernel.
type claims map[string]string

func (c claims) claim(m *yamltext.Checks, key, format string, args ...any) (ok bool) {
	what := fmt.Sprintf(format, args...)
	other, taken := c[what]
	if taken {
		m.Note(key, "%s: %s has it already", what, other)
		return false
	}
	c[what] = key
	return true
}

// core claims what is behind a MAC.
func (c claims) core(m *yamltext.Checks, key string, core *nfapiCore) {
	switch {
	case core.TUN != nil:
		u, _ := core.TUN.Device()
		c.claim(m, key+".tun.name", "device %q of namespace %q", u.Name, u.Namespace)
	case core.N3 != nil && core.N3.Address.IsValid():
		c.claim(m, key+".n3.address", "GTP-U at %v of namespace %q", core.N3.Address, core.N3.Namespace)
	}
	switch {
	case core.SMF.IsValid() && core.N4.IsValid():
		c.claim(m, key+".smf", "PFCP at %v", core.SMF)
	case core.N4.IsValid():
		c.claim(m, key+".smf", "PFCP at the address that the route to %v has", core.N4)
	}
}

// devices claims those of a cell's UEs.
func (c claims) devices(m *yamltext.Checks, key string, air *phy.Config, cell *radio.Config) {
	if air.Device == nil || air.Device.Name == "" {
		return
	}
	for _, name := range air.Device.Names(len(cell.UEs)) {
		if !c.claim(m, key+".device.name", "device %q of namespace %q", name, air.Device.Namespace) {
			return
		}
	}
}
