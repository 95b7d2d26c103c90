package upfcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

type showSession struct {
	upfFlags
	SEID upf.SEID `arg:"" help:"SEID of the UPF (0x… or decimal); plumb sessions lists them."`
}

// Help is shown by its --help.
func (showSession) Help() string {
	return cli.Examples("plumb show session 0x00880fa347000000", "plumb show session 0x00880fa347000000 --json")
}

// Run prints the session as tables, one for each kind of rules that it has.
func (c *showSession) Run(ctx context.Context, stdout io.Writer) error {
	s, err := upf.NewClient(c.Socket).Session(ctx, c.SEID)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, s)
	}
	term.PrintLine(stdout, fmt.Sprintf("SEID %s, of CP function %s (its SEID %s)", s.SEID, s.NodeID, s.CPSEID))
	for _, about := range []struct{ name, value string }{{"slice", s.Slice}, {"S-NSSAI", s.SNSSAI}, {"DNN", s.DNN}, {"PDN type", s.PDNType}} {
		if about.value != "" {
			term.PrintLine(stdout, about.name+" "+about.value)
		}
	}
	if s.InactivityTimer != 0 {
		fmt.Fprintf(stdout, "User Plane Inactivity Timer %ds\n", s.InactivityTimer)
	}
	if len(s.FQCSIDs) > 0 {
		term.PrintLine(stdout, "FQ-CSID "+term.Words(s.FQCSIDs))
	}
	if s.Reports != 0 {
		fmt.Fprintf(stdout, "%d Usage Reports that the CP function has not acknowledged\n", s.Reports)
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
	if err := printBARs(stdout, s.Rules.BARs); err != nil {
		return err
	}
	return printEndpoints(stdout, s.Rules.TrafficEndpoints)
}

func printQERs(w io.Writer, qers []upf.QER) error {
	if len(qers) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "QER", "QFI", "UL GATE", "DL GATE", "UL MBR", "DL MBR", "UL GBR", "DL GBR")
	for _, q := range qers {
		qfi := ""
		if q.QFI != 0 {
			qfi = fmt.Sprint(q.QFI)
		}
		t.Row(q.ID, qfi, gate(q.UplinkGateClosed), gate(q.DownlinkGateClosed),
			rate(q.UplinkMBR), rate(q.DownlinkMBR), rate(q.UplinkGBR), rate(q.DownlinkGBR))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range qers {
		q := &qers[i]
		more := notes{w, fmt.Sprintf("QER %d", q.ID)}
		more.some("uplink Packet Rate", packetRate(q.UplinkPacketRate))
		more.some("downlink Packet Rate", packetRate(q.DownlinkPacketRate))
		if q.RQI {
			more.add("RQI")
		}
		if q.PagingPolicy != nil {
			more.add("Paging Policy Indicator", *q.PagingPolicy)
		}
		if m := q.Marking; m != nil {
			more.some("DL Flow Level Marking", marking(m))
		}
	}
	return nil
}

func packetRate(r *upf.PacketRate) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d in %v", r.Packets, milliseconds(int64(r.TimeMs)))
}

func marking(m *upf.FlowMarking) string {
	var list []string
	if m.TOSMask != 0 {
		list = append(list, fmt.Sprintf("ToS %#02x/%#02x", m.TOS, m.TOSMask))
	}
	if m.ServiceClass != nil {
		list = append(list, fmt.Sprintf("Service Class Indicator %d", *m.ServiceClass))
	}
	return strings.Join(list, ", ")
}

func printBARs(w io.Writer, bars []upf.BAR) error {
	if len(bars) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "BAR", "NOTIFICATION DELAY", "PACKETS", "DL BUFFERING DURATION")
	for _, b := range bars {
		duration := ""
		if b.DurationMs != 0 {
			duration = milliseconds(b.DurationMs).String()
		}
		t.Row(b.ID, fmt.Sprintf("%dms", b.NotificationDelayMs), b.Packets, duration)
	}
	return t.Flush()
}

func printEndpoints(w io.Writer, endpoints []upf.TrafficEndpoint) error {
	if len(endpoints) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "TRAFFIC ENDPOINT", "F-TEID", "UE ADDRESS", "QFI", "NETWORK INSTANCE")
	for _, e := range endpoints {
		t.Row(e.ID, endpoint(e.FTEID), term.Words(e.UEAddresses), term.Words(e.QFIs), e.NetworkInstance)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range endpoints {
		more := notes{w, fmt.Sprintf("Traffic Endpoint %d", e.ID)}
		more.some("framed routes", term.Words(e.FramedRoutes))
		if e.EthernetSession {
			more.add("Ethernet PDU session")
		}
	}
	return nil
}

// notes are what few rules have: a line each, below the table.
type notes struct {
	w    io.Writer
	rule string // "PDR 1"
}

func (n notes) add(what ...any) {
	term.PrintLine(n.w, n.rule+": "+strings.TrimSuffix(fmt.Sprintln(what...), "\n"))
}

// some adds a line if there is a value.
func (n notes) some(name, value string) {
	if value != "" {
		n.add(name, value)
	}
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
