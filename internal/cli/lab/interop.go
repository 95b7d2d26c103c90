package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/interop"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

type interopCommand struct {
	UE       []interop.UE   `name:"ue" required:"" placeholder:"[NETNS:]DEVICE" help:"Network device of a UE with a PDU session, such as uesimtun0; several with commas or again."`
	UENetns  string         `name:"ue-netns" placeholder:"NETNS" help:"Network namespace of the UEs that have none before their device. Default: that of the command."`
	DN       netip.Addr     `name:"dn" placeholder:"ADDRESS" help:"IPv4 address of the data network, which answers ping."`
	DN6      netip.Addr     `name:"dn6" placeholder:"ADDRESS" help:"The same of IPv6."`
	DNNetns  string         `name:"dn-netns" placeholder:"NETNS" help:"Network namespace that has --dn and --dn6 and routes to the UEs: servers are started there. A dot: that of the command."`
	Iperf    uint16         `placeholder:"PORT" help:"An iperf3 server runs at --dn and --dn6: its port."`
	HTTP     string         `name:"http" placeholder:"URL" help:"A file that an HTTP server gives."`
	SHA256   string         `name:"http-sha256" placeholder:"HEX" help:"Its SHA-256. Default: it is not compared."`
	UPF      string         `name:"upf" placeholder:"SOCKET" help:"api.socket of plumb upf, if that is the UPF: it is asked why a step failed."`
	Skip     []interop.Part `placeholder:"PART" help:"Do not try ping, mtu, tcp, udp, http, ambr, ue-to-ue."`
	Uplink   upf.BitRate    `name:"ambr-uplink" placeholder:"RATE" help:"What UDP may have at most, such as 50Mbit/s: more is sent, and between -20 % and +5 % of it must be received."`
	Downlink upf.BitRate    `name:"ambr-downlink" placeholder:"RATE" help:"The same downlink."`
	UEToUE   string         `name:"ue-to-ue" enum:",allow,deny" default:"" placeholder:"allow|deny" help:"Whether packets between UEs should arrive. Default: what they do is not judged."`

	Flow        string        `placeholder:"COMMAND" help:"Makes the core add or change a QoS flow."`
	Handover    string        `placeholder:"COMMAND" help:"Moves the UE to another gNB."`
	Idle        string        `placeholder:"COMMAND" help:"Has the radio released (CM-IDLE)."`
	SMFRestart  string        `name:"smf-restart" placeholder:"COMMAND" help:"Restarts the SMF."`
	UPFRestart  string        `name:"upf-restart" placeholder:"COMMAND" help:"Restarts the UPF."`
	Release     string        `placeholder:"COMMAND" help:"Releases the PDU session."`
	Settle      time.Duration `default:"3s" help:"After each command. Default: 3s."`
	CommandTime time.Duration `default:"60s" placeholder:"TIME" help:"A command that takes longer is killed. Default: 60s."`
	Gap         time.Duration `placeholder:"TIME" help:"Longest time without an answer that a flow, a handover or a restart may cost. Default: no packet may be lost."`

	JSON string `name:"json" placeholder:"FILE" help:"Write every figure as JSON (plumbline.interop/1); - is standard output."`
}

// Help is shown by plumb lab interop --help.
func (interopCommand) Help() string {
	return `Tries what a UPF has to do for a core, with the UEs of any core (UERANSIM, plumb gnb, modems) and any UPF behind it, and says of each step whether it passed, by what packets did.

Commands are run by /bin/sh. In them {ue} is the UE's device, {namespace} its namespace, {number} 1 for the first UE, {ipv4} and {ipv6} its addresses: then the command is run for each UE, else once for all. A step without its command, or without its server, is not tried.

It needs root, iperf3 and curl. Exit code: 0 every step that was tried passed, 1 one failed or nothing was judged, 2 wrong command line, 3 a program is missing, or not root.

Examples:

    plumb lab interop --ue uesimtun0 --dn 10.6.0.2
    plumb lab interop --ue ue:uesimtun0,ue:uesimtun1 --dn 10.6.0.2 \
        --dn-netns dn --json r.json
    plumb lab interop --ue uesimtun0 --dn 10.45.0.1 --iperf 5201 \
        --ambr-uplink 50Mbit/s
    plumb lab interop --ue ue:ue0 --dn 10.6.0.2 --dn-netns dn \
        --upf-restart "systemctl restart plumb-upf"
`
}

// Run walks through the steps, prints the table and writes the file.
func (c *interopCommand) Run(ctx context.Context, stdout io.Writer) error {
	config, err := c.config()
	if err != nil {
		return cli.Usage(err)
	}
	if err := interopNeeds(&config); err != nil {
		return err
	}
	file, err := cli.OpenOutputs(cli.To(c.JSON, report.WriteInterop))
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "lab interop", false)
	config.OnStep = term.Steps[report.Step](bar)
	result, err := interop.Run(ctx, config)
	bar.Close()
	if result == nil {
		return errors.Join(err, file.Discard())
	}
	show := report.InteropTable
	if c.JSON == "-" {
		show = report.WriteInterop
	}
	return errors.Join(err, file.Write(result), show(stdout, result), interopFailed(result))
}

// interopFailed is an error unless a step passed and none failed.
func interopFailed(r *report.Interop) error {
	switch passed, failed := r.Judged(); {
	case failed > 0:
		return fmt.Errorf("lab interop: %d of %d steps failed", failed, passed+failed)
	case passed == 0:
		return errors.New("lab interop: no step was judged")
	}
	return nil
}

// interopNeeds says what the run needs and this process or machine does not have.
func interopNeeds(config *interop.Config) error {
	err := cli.NeedsCapabilities("lab interop enters network namespaces and binds raw sockets to devices", map[string]int{
		"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_NET_RAW": unix.CAP_NET_RAW})
	if err != nil {
		return err
	}
	for _, program := range config.Programs() {
		if _, err := exec.LookPath(program); err != nil {
			return cli.Unsupported(fmt.Errorf("lab interop: %s is not installed: apt-get install %s", program, program))
		}
	}
	return nil
}

// config turns the flags into what package interop takes.
func (c *interopCommand) config() (interop.Config, error) {
	version, commit := cli.Built()
	config := interop.Config{
		DN: c.DN, DN6: c.DN6, Servers: c.DNNetns != "", DNNamespace: c.DNNetns, IperfPort: c.Iperf, URL: c.HTTP, SHA256: c.SHA256,
		Skip: c.Skip, UplinkAMBR: uint64(c.Uplink), DownlinkAMBR: uint64(c.Downlink), UEToUE: interop.Policy(c.UEToUE),
		Commands: map[interop.Change]string{
			interop.Flow: c.Flow, interop.Handover: c.Handover, interop.Idle: c.Idle, interop.SMFRestart: c.SMFRestart,
			interop.UPFRestart: c.UPFRestart, interop.Release: c.Release,
		},
		Settle: c.Settle, CommandTime: c.CommandTime, Gap: c.Gap,
		Host: host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")),
	}
	if c.DNNetns == "." {
		config.DNNamespace = ""
	}
	for _, u := range c.UE {
		if u.Namespace == "" {
			u.Namespace = c.UENetns
		}
		config.UEs = append(config.UEs, u)
	}
	if c.UPF != "" {
		config.UPF = upf.NewClient(c.UPF)
	}
	if c.HTTP != "" {
		if err := interop.ParseURL(c.HTTP); err != nil {
			return config, err
		}
	}
	return config, config.Validate()
}
