package main

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"

	"plumbline/radio"
	"plumbline/radio/phy"
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

// UnmarshalYAML has keys that are absent be defaults.
func (c *nfapiVNFCell) UnmarshalYAML(unmarshal func(any) error) error {
	type plain nfapiVNFCell
	p := plain{GNB: newNFAPIGNB()}
	err := unmarshal(&p)
	*c = nfapiVNFCell(p)
	return err
}

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

// UnmarshalYAML has keys that are absent be defaults.
func (c *nfapiPNFCell) UnmarshalYAML(unmarshal func(any) error) error {
	type plain nfapiPNFCell
	p := plain{Air: newNFAPIPNFAir()}
	err := unmarshal(&p)
	*c = nfapiPNFCell(p)
	return err
}

// newNFAPIPNFAir has the defaults of the keys.
func newNFAPIPNFAir() nfapiPNFAir { return nfapiPNFAir{Radio: radio.Default()} }

// errCells is about cells: and the PHYs that there are.
var errCells = errors.New("cells")

// oneCellEach assigns cells to PHYs: that of the top level, if it is none of the
// defaults, belongs to the only PHY, others to the one that they name.
func oneCellEach[T any](phys []nfapiPHYName, top, none T, names []nfapiPHYName, cells []T) (map[nfapiPHYName]T, error) {
	if len(cells) == 0 {
		if len(phys) > 1 {
			return nil, fmt.Errorf("%w: %d phys, and the one cell of the top level: write an entry of cells: for each", errCells, len(phys))
		}
		return map[nfapiPHYName]T{phys[0]: top}, nil
	}
	if !reflect.DeepEqual(top, none) {
		return nil, fmt.Errorf("%w: a cell at the top level (radio, core, air) beside the %d of cells:", errCells, len(cells))
	}
	of := make(map[nfapiPHYName]T, len(cells))
	for i, name := range names {
		if _, twice := of[name]; twice {
			return nil, fmt.Errorf("%w: two for %v", errCells, name)
		}
		of[name] = cells[i]
	}
	for _, name := range phys {
		if _, ok := of[name]; !ok {
			return nil, fmt.Errorf("%w: none for %v", errCells, name)
		}
	}
	if len(of) > len(phys) {
		return nil, fmt.Errorf("%w: %d for %d phys: %v are the names", errCells, len(of), len(phys), phys)
	}
	return of, nil
}

// distinctUEs refuses an address that UEs of two cells have: behind them is one network.
func distinctUEs(phys []nfapiPHYName, cell func(nfapiPHYName) *radio.Config) error {
	of := make(map[netip.Addr]nfapiPHYName)
	for _, name := range phys {
		for _, u := range cell(name).UEs {
			for _, a := range u.Addresses {
				if other, taken := of[a]; taken && other != name {
					return fmt.Errorf("%w: %v and %v both have a ue with address %v", errCells, other, name, a)
				}
				of[a] = name
			}
		}
	}
	return nil
}
