package upf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// InterfaceType is a 3GPP reference point by its name in a configuration, such as
// "s5-s8-u": one or more values of the IE 3GPP Interface Type.
type InterfaceType string

// interfaceTypeValues are the values of each name. Indirect data forwarding has one
// for each way.
// Source: TS 29.244 V18.6.0, 8.2.118.
var interfaceTypeValues = map[InterfaceType][]pfcp.InterfaceType{
	"s1-u":          {pfcp.InterfaceTypeS1U},
	"s5-s8-u":       {pfcp.InterfaceTypeS5S8U, pfcp.InterfaceTypeS8U},
	"s4-u":          {pfcp.InterfaceTypeS4U},
	"s11-u":         {pfcp.InterfaceTypeS11U},
	"s12":           {pfcp.InterfaceTypeS12},
	"gn-gp-u":       {pfcp.InterfaceTypeGnGpU, pfcp.InterfaceTypeGpU},
	"s2a-u":         {pfcp.InterfaceTypeS2aU},
	"s2b-u":         {pfcp.InterfaceTypeS2bU},
	"iu-u":          {pfcp.InterfaceTypeIuU},
	"forwarding":    {pfcp.InterfaceTypeSGWDLForwarding, pfcp.InterfaceTypeSGWULForwarding},
	"n3":            {pfcp.InterfaceTypeN33GPPAccess, pfcp.InterfaceTypeN3TrustedNon3GPP, pfcp.InterfaceTypeN3UntrustedNon3GPP},
	"n3-forwarding": {pfcp.InterfaceTypeN3Forwarding},
	"n9":            {pfcp.InterfaceTypeN9},
	"n9-roaming":    {pfcp.InterfaceTypeN9Roaming},
	"n9-forwarding": {pfcp.InterfaceTypeN9Forwarding},
	"n19":           {pfcp.InterfaceTypeN19},
	"n4-u":          {pfcp.InterfaceTypeN4U, pfcp.InterfaceTypeSxaU, pfcp.InterfaceTypeSxbU, pfcp.InterfaceTypeSxcU},
}

// UnmarshalText takes a name that there is.
func (t *InterfaceType) UnmarshalText(text []byte) error {
	if interfaceTypeValues[InterfaceType(text)] == nil {
		names := slices.Sorted(maps.Keys(interfaceTypeValues))
		return fmt.Errorf("interface type %q: want one of %s", text, strings.Trim(fmt.Sprint(names), "[]"))
	}
	*t = InterfaceType(text)
	return nil
}

// interfaceTypes lists the values of all names.
func interfaceTypes(names []InterfaceType) []uint8 {
	var all []uint8
	for _, n := range names {
		for _, v := range interfaceTypeValues[n] {
			all = append(all, uint8(v))
		}
	}
	return all
}
