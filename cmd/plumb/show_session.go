package main

import (
	"context"
	"fmt"
	"io"

	"plumbline/upf"
)

type showSession struct {
	upfFlags
	SEID upf.SEID `arg:"" help:"SEID of the UPF (0x… or decimal); plumb sessions lists them."`
}

// Run prints the session as three tables: PDRs, FARs, QERs.
func (c *showSession) Run(ctx context.Context, stdout io.Writer) error {
	s, err := upf.NewClient(c.Socket).Session(ctx, c.SEID)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(stdout, s)
	}
	fmt.Fprintf(stdout, "SEID %s, of CP function %s (its SEID %s)\n", s.SEID, s.NodeID, s.CPSEID)
	if err := printPDRs(stdout, s.Rules.PDRs); err != nil {
		return err
	}
	if err := printFARs(stdout, s.Rules.FARs); err != nil {
		return err
	}
	return printQERs(stdout, s.Rules.QERs)
}

func printPDRs(w io.Writer, pdrs []upf.PDR) error {
	fmt.Fprintln(w)
	t := newTable(w, "PDR", "PRECEDENCE", "FROM", "F-TEID", "UE ADDRESS", "QFI", "NETWORK INSTANCE", "OHR", "FAR", "QER",
		"PACKETS", "OCTETS", "DROPPED")
	for _, p := range pdrs {
		t.row(p.ID, p.Precedence, p.SourceInterface, endpoint(p.FTEID), words(p.UEAddresses), words(p.QFIs), p.NetworkInstance,
			yesNo(p.OuterHeaderRemoval), p.FARID, words(p.QERIDs), p.Usage.Packets, p.Usage.Octets, p.Usage.DroppedPackets)
	}
	return t.flush()
}

func printFARs(w io.Writer, fars []upf.FAR) error {
	fmt.Fprintln(w)
	t := newTable(w, "FAR", "ACTION", "TO", "GTP-U TO", "NETWORK INSTANCE", "DSCP")
	for _, f := range fars {
		dscp := ""
		if f.DSCP != nil {
			dscp = fmt.Sprint(*f.DSCP)
		}
		t.row(f.ID, f.ApplyAction, f.DestinationInterface, endpoint(f.OuterHeaderCreation), f.NetworkInstance, dscp)
	}
	return t.flush()
}

func printQERs(w io.Writer, qers []upf.QER) error {
	if len(qers) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := newTable(w, "QER", "QFI", "UL GATE", "DL GATE", "UL MBR", "DL MBR", "UL GBR", "DL GBR")
	for _, q := range qers {
		t.row(q.ID, q.QFI, gate(q.UplinkGateClosed), gate(q.DownlinkGateClosed),
			rate(q.UplinkMBR), rate(q.DownlinkMBR), rate(q.UplinkGBR), rate(q.DownlinkGBR))
	}
	return t.flush()
}

// endpoint is a tunnel endpoint as TEID@address.
func endpoint(e *upf.FTEID) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%s@%s", e.TEID, e.IPv4)
}

func gate(closed bool) string {
	if closed {
		return "closed"
	}
	return "open"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// rate shows bit/s with the largest unit that keeps it a whole number, so that
// nothing is rounded away.
func rate(bps *uint64) string {
	if bps == nil {
		return ""
	}
	v, unit := *bps, 0
	units := []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"}
	for v != 0 && v%1000 == 0 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%d%s", v, units[unit])
}
