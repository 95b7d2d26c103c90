package upfcmd

import (
	"fmt"
	"io"

	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

func printPDRs(w io.Writer, pdrs []upf.PDR) error {
	fmt.Fprintln(w)
	t := term.NewTable(w, "PDR", "PRECEDENCE", "FROM", "F-TEID", "UE ADDRESS", "QFI", "NETWORK INSTANCE", "OHR", "FAR", "QER", "URR",
		"PACKETS", "OCTETS", "DROPPED")
	for _, p := range pdrs {
		t.Row(p.ID, p.Precedence, p.SourceInterface, endpoint(p.FTEID), term.Words(p.UEAddresses), term.Words(p.QFIs), p.NetworkInstance,
			p.OuterHeaderRemoval, number(p.FARID), term.Words(p.QERIDs), term.Words(p.URRIDs), p.Usage.Packets, p.Usage.Octets, p.Usage.DroppedPackets)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range pdrs {
		p := &pdrs[i]
		more := notes{w, fmt.Sprintf("PDR %d", p.ID)}
		more.some("Traffic Endpoint", term.Words(p.TrafficEndpoints))
		if p.Inherits {
			more.add("found by what the session's other PDRs have")
		}
		if p.FARID == nil {
			more.add("no FAR yet: packets are dropped (incomplete)")
		}
		more.some("framed routes", term.Words(p.FramedRoutes))
		for _, f := range p.Filters {
			more.add(f)
		}
		if p.EthernetSession {
			more.add("Ethernet PDU session")
		}
		for _, f := range p.EthernetFilters {
			more.add("Ethernet Packet Filter", f)
		}
		more.some("application", p.ApplicationID)
		for _, name := range p.Predefined {
			more.add("predefined rule", name)
		}
	}
	return nil
}

func printFARs(w io.Writer, fars []upf.FAR) error {
	fmt.Fprintln(w)
	t := term.NewTable(w, "FAR", "ACTION", "TO", "OUTER HEADER", "NETWORK INSTANCE", "DSCP", "BAR")
	for _, f := range fars {
		t.Row(f.ID, f.ApplyAction, f.DestinationInterface, creation(f.OuterHeaderCreation), f.NetworkInstance, number(f.DSCP), number(f.BARID))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range fars {
		f := &fars[i]
		more := notes{w, fmt.Sprintf("FAR %d", f.ID)}
		if f.Incomplete {
			more.add("no tunnel yet: packets are dropped (incomplete)")
		}
		for _, n := range f.Notes() {
			more.some(n[0], n[1])
		}
	}
	return nil
}

func creation(o *upf.OuterHeaderCreation) string {
	if o == nil {
		return ""
	}
	return o.String()
}

// number is "" for what is absent.
func number[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
