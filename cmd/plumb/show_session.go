package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"plumbline/upf"
)

type showSession struct {
	upfFlags
	SEID upf.SEID `arg:"" help:"SEID of the UPF (0x… or decimal); plumb sessions lists them."`
}

// Run prints the session as tables, one for each kind of rules that it has.
func (c *showSession) Run(ctx context.Context, stdout io.Writer) error {
	s, err := upf.NewClient(c.Socket).Session(ctx, c.SEID)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(stdout, s)
	}
	fmt.Fprintf(stdout, "SEID %s, of CP function %s (its SEID %s)\n", s.SEID, s.NodeID, s.CPSEID)
	for _, about := range []struct{ name, value string }{{"slice", s.Slice}, {"S-NSSAI", s.SNSSAI}, {"DNN", s.DNN}} {
		if about.value != "" {
			fmt.Fprintf(stdout, "%s %s\n", about.name, about.value)
		}
	}
	if err := printPDRs(stdout, s.Rules.PDRs); err != nil {
		return err
	}
	if err := printFARs(stdout, s.Rules.FARs); err != nil {
		return err
	}
	if err := printQERs(stdout, s.Rules.QERs); err != nil {
		return err
	}
	if err := printURRs(stdout, s.Rules.URRs); err != nil {
		return err
	}
	return printBARs(stdout, s.Rules.BARs)
}

func printPDRs(w io.Writer, pdrs []upf.PDR) error {
	fmt.Fprintln(w)
	t := newTable(w, "PDR", "PRECEDENCE", "FROM", "F-TEID", "UE ADDRESS", "QFI", "NETWORK INSTANCE", "OHR", "FAR", "QER", "URR",
		"PACKETS", "OCTETS", "DROPPED")
	for _, p := range pdrs {
		t.row(p.ID, p.Precedence, p.SourceInterface, endpoint(p.FTEID), words(p.UEAddresses), words(p.QFIs), p.NetworkInstance,
			yesNo(p.OuterHeaderRemoval), p.FARID, words(p.QERIDs), words(p.URRIDs), p.Usage.Packets, p.Usage.Octets, p.Usage.DroppedPackets)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, p := range pdrs {
		for _, f := range p.Filters {
			fmt.Fprintf(w, "PDR %d: %s\n", p.ID, f)
		}
		if p.ApplicationID != "" {
			fmt.Fprintf(w, "PDR %d: application %s\n", p.ID, p.ApplicationID)
		}
		for _, name := range p.Predefined {
			fmt.Fprintf(w, "PDR %d: predefined rule %s\n", p.ID, name)
		}
	}
	return nil
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

func printURRs(w io.Writer, urrs []upf.URR) error {
	if len(urrs) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := newTable(w, "URR", "METHOD", "TRIGGERS", "THRESHOLD", "QUOTA", "UL OCTETS", "DL OCTETS", "UL PACKETS", "DL PACKETS")
	for _, u := range urrs {
		t.row(u.ID, u.Method, u.Triggers, volume(u.VolumeThreshold), volume(u.VolumeQuota),
			u.UplinkOctets, u.DownlinkOctets, u.UplinkPackets, u.DownlinkPackets)
	}
	return t.flush()
}

func printBARs(w io.Writer, bars []upf.BAR) error {
	if len(bars) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := newTable(w, "BAR", "NOTIFICATION DELAY", "PACKETS")
	for _, b := range bars {
		t.row(b.ID, fmt.Sprintf("%dms", b.NotificationDelayMs), b.Packets)
	}
	return t.flush()
}

// volume shows the limits there are, in octets.
func volume(v *upf.Volume) string {
	if v == nil {
		return ""
	}
	var list []string
	for _, l := range []struct {
		name  string
		value *uint64
	}{{"total", v.Total}, {"uplink", v.Uplink}, {"downlink", v.Downlink}} {
		if l.value != nil {
			list = append(list, fmt.Sprintf("%s %d", l.name, *l.value))
		}
	}
	return strings.Join(list, ", ")
}

// endpoint is a tunnel endpoint as TEID@address.
func endpoint(e *upf.FTEID) string {
	if e == nil {
		return ""
	}
	at := e.IPv4
	if !at.IsValid() {
		at = e.IPv6
	}
	return fmt.Sprintf("%s@%s", e.TEID, at)
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
