package upfcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

// Show is plumb show: what the running UPF has and does.
type Show struct {
	Session      showSession      `cmd:"" help:"One PFCP session: its rules, what they counted and what was reported."`
	Associations showAssociations `cmd:"" help:"PFCP associations with CP functions."`
	Datapath     showDatapath     `cmd:"" help:"What forwards packets, and how full its buffer and tables are."`
	Slices       showSlices       `cmd:"" help:"Slices: their sessions and what they sent and received."`
	Peers        showPeers        `cmd:"" help:"Next hops on N3 and N6 that the datapath knows."`
	Config       showConfig       `cmd:"" help:"The configuration with which the UPF runs, defaults included."`
}

// Help is shown by plumb show --help.
func (Show) Help() string {
	return `Shows what the UPF that runs on this machine holds. It changes nothing. Of a UPF that is several processes plumb n4 shows sessions, slices and what its datapaths told it, each plumb datapath itself (--socket).

Examples:

    plumb show session 0x1
    plumb show associations
    plumb show datapath --json
`
}

type showAssociations struct{ upfFlags }

// Help is shown by its --help.
func (showAssociations) Help() string {
	return cli.Examples("plumb show associations", "plumb show associations --socket /run/plumbline/n4.sock")
}

// Help is shown by its --help.

// Run prints one line per association.
func (c *showAssociations) Run(ctx context.Context, stdout io.Writer) error {
	a, err := upf.NewClient(c.Socket).Associations(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, a)
	}
	t := term.NewTable(stdout, "CP NODE ID", "ADDRESS", "SINCE", "SESSIONS", "PATH", "CP STARTED")
	for _, a := range a.Associations {
		path := "up"
		if a.PathDown {
			path = "down"
		}
		t.Row(a.NodeID, a.Address, a.Since.Format(time.RFC3339), a.Sessions, path, a.RecoveryTimeStamp.Format(time.RFC3339))
	}
	return t.Flush()
}

type showDatapath struct{ upfFlags }

// Help is shown by its --help.
func (showDatapath) Help() string {
	return cli.Examples("plumb show datapath", "plumb show datapath --json")
}

// Help is shown by its --help.

// Run prints one line per property.
func (c *showDatapath) Run(ctx context.Context, stdout io.Writer) error {
	d, err := upf.NewClient(c.Socket).Datapath(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, d)
	}
	term.PrintLine(stdout, datapathLine(d))
	term.PrintLine(stdout, fmt.Sprintf("since %s: %s", d.Since.Format(time.RFC3339), d.Why))
	if b := d.Buffer; b != nil {
		term.PrintLine(stdout, fmt.Sprintf("buffer: packets of %d sessions, %d of %d packets, %d of %d octets",
			b.Sessions, b.Packets, b.MaxPackets, b.Octets, b.MaxOctets))
	}
	for _, print := range []func() error{
		func() error { return printTarget(stdout, d.Target) },
		func() error { return printDevices(stdout, d.Devices) },
		func() error { return printTables(stdout, d.Tables) },
		func() error { return printAgents(stdout, d.Agents) },
	} {
		if err := print(); err != nil {
			return err
		}
	}
	return nil
}

// datapathLine says what forwards. Where that are other processes, they know the rest.
func datapathLine(d *upf.Datapath) string {
	line := "datapath " + d.Name
	if len(d.N3Addresses) > 0 {
		line += " at " + term.Words(d.N3Addresses)
	}
	if d.MaxSessions > 0 {
		line += fmt.Sprintf(", %d sessions at most, %d octets of tables", d.MaxSessions, d.MemoryOctets)
	}
	return line
}

// printTarget says how a P4 target is, and what it has handed to the CPU.
func printTarget(w io.Writer, t *upf.Target) error {
	if t == nil {
		return nil
	}
	where, state := "in this process", "up"
	if t.Address != "" {
		where = "at " + t.Address
	}
	if !t.Up {
		state = "away"
	}
	term.PrintLine(w, fmt.Sprintf("target: device %d %s, %s since %s", t.DeviceID, where, state, t.Since.Format(time.RFC3339)))
	if t.Why != "" {
		term.PrintLine(w, "target: "+t.Why)
	}
	term.PrintLine(w, fmt.Sprintf("target: forwards %d sessions, the CPU %d, of which %d wait for the target", t.Sessions, t.CPUSessions, t.WaitingSessions))
	if len(t.Handed) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	list := term.NewTable(w, "HANDED TO THE CPU", "PACKETS")
	for _, h := range t.Handed {
		list.Row(h.Reason, h.Packets)
	}
	return list.Flush()
}

func printTables(w io.Writer, tables []upf.TableUse) error {
	if len(tables) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "TABLE", "USED", "MAX")
	for _, table := range tables {
		t.Row(table.Name, table.Used, table.Max)
	}
	return t.Flush()
}

// printAgents prints one line per datapath that is another process, and one per
// table of theirs.
func printAgents(w io.Writer, agents []upf.AgentState) error {
	if len(agents) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "AGENT", "NUMBER", "STATE", "DATAPATH", "DESIRED", "HELD", "REFUSED", "BUFFERED PACKETS", "MAX", "OCTETS", "MAX")
	for _, a := range agents {
		state, buffer := "down", &upf.Buffered{}
		if a.Up {
			state = "up"
		}
		if a.Buffer != nil {
			buffer = a.Buffer
		}
		t.Row(a.Name, a.Number, state, a.Datapath, a.Desired, a.Sessions, a.Refused, buffer.Packets, buffer.MaxPackets, buffer.Octets, buffer.MaxOctets)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = term.NewTable(w, "AGENT", "TABLE", "USED", "MAX")
	for _, a := range agents {
		for _, table := range a.Tables {
			t.Row(a.Name, table.Name, table.Used, table.Max)
		}
	}
	return t.Flush()
}

func printDevices(w io.Writer, devices []upf.Device) error {
	if len(devices) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "INTERFACE", "DEVICE", "XDP MODE", "MTU")
	for _, d := range devices {
		t.Row(d.Interface, d.Name, d.Mode, d.MTU)
	}
	return t.Flush()
}

type showSlices struct{ upfFlags }

// Help is shown by its --help.
func (showSlices) Help() string {
	return cli.Examples("plumb show slices", "plumb show slices --json")
}

// Help is shown by its --help.

// Run prints one line per slice.
func (c *showSlices) Run(ctx context.Context, stdout io.Writer) error {
	s, err := upf.NewClient(c.Socket).Slices(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, s)
	}
	t := term.NewTable(stdout, "SLICE", "S-NSSAI", "DNN", "SESSIONS", "UL PACKETS", "UL OCTETS", "UL DROPPED", "DL PACKETS", "DL OCTETS", "DL DROPPED")
	for _, x := range s.Slices {
		t.Row(x.Name, x.SNSSAI, term.Words(x.DNNs), x.Sessions, x.Uplink.Packets, x.Uplink.Octets, x.Uplink.DroppedPackets,
			x.Downlink.Packets, x.Downlink.Octets, x.Downlink.DroppedPackets)
	}
	return t.Flush()
}

type showPeers struct{ upfFlags }

// Help is shown by its --help.
func (showPeers) Help() string {
	return cli.Examples("plumb show peers", "plumb show peers --json")
}

// Help is shown by its --help.

// Run prints one line per next hop.
func (c *showPeers) Run(ctx context.Context, stdout io.Writer) error {
	p, err := upf.NewClient(c.Socket).Peers(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, p)
	}
	t := term.NewTable(stdout, "INTERFACE", "NEXT HOP", "DEVICE", "MAC", "MTU", "USES")
	for _, p := range p.Peers {
		t.Row(p.Interface, p.Address, p.Device, p.MAC, p.MTU, p.Uses)
	}
	return t.Flush()
}

type showConfig struct{ upfFlags }

// Help is shown by its --help.
func (showConfig) Help() string {
	return cli.Examples("plumb show config > upf.yaml")
}

// Help is shown by its --help.

// Run prints the configuration as a file that plumb upf takes.
func (c *showConfig) Run(ctx context.Context, stdout io.Writer) error {
	config, err := upf.NewClient(c.Socket).Config(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, config)
	}
	text, err := config.Marshal()
	if err != nil {
		return err
	}
	_, err = stdout.Write(text)
	return err
}
