package session

import (
	"fmt"
	"net"
	"strings"
)

// String is the address with colons.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// String is all that a frame is compared with, in the words of TS 29.244; "any
// frame" if that is nothing.
func (f *EthernetFilter) String() string {
	var parts []string
	for i := range f.MACs {
		m := &f.MACs[i]
		parts = appendMAC(parts, "source MAC", m.Source, m.UpperSource)
		parts = appendMAC(parts, "destination MAC", m.Destination, m.UpperDestination)
		if i < len(f.MACs)-1 {
			parts = append(parts, "or")
		}
	}
	if f.Ethertype != 0 {
		parts = append(parts, fmt.Sprintf("Ethertype %#04x", f.Ethertype))
	}
	if f.CTAG.Present {
		parts = append(parts, "C-TAG "+f.CTAG.Value.String())
	}
	if f.STAG.Present {
		parts = append(parts, "S-TAG "+f.STAG.Value.String())
	}
	for i := range f.Filters {
		if i > 0 {
			parts = append(parts, "or")
		}
		parts = append(parts, f.Filters[i].String())
	}
	if f.Bidirectional {
		parts = append(parts, "BIDE")
	}
	if f.Reference {
		parts = append(parts, fmt.Sprintf("as Ethernet Filter ID %d of another PDR", f.ID.Value))
	}
	if len(parts) == 0 {
		return "any frame"
	}
	return strings.Join(parts, " ")
}

// appendMAC appends an address, or a range of them, if there is one.
func appendMAC(parts []string, name string, a, upper Optional[MAC]) []string {
	switch {
	case !a.Present:
		return parts
	case upper.Present:
		return append(parts, fmt.Sprintf("%s %s to %s", name, a.Value, upper.Value))
	}
	return append(parts, fmt.Sprintf("%s %s", name, a.Value))
}

// String is the parts that are compared.
func (t VLANTag) String() string {
	var parts []string
	if t.VID.Present {
		parts = append(parts, fmt.Sprintf("VID %d", t.VID.Value))
	}
	if t.PCP.Present {
		parts = append(parts, fmt.Sprintf("PCP %d", t.PCP.Value))
	}
	if t.DEI.Present {
		parts = append(parts, fmt.Sprintf("DEI %t", t.DEI.Value))
	}
	if parts == nil {
		return "any"
	}
	return strings.Join(parts, " ")
}
