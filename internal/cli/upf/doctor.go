package upfcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/doctor"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/upf"
)

// Doctor is plumb doctor: what this machine, kernel and devices can do.
type Doctor struct {
	JSON     bool     `name:"json" help:"Print JSON instead of the table."`
	Config   string   `placeholder:"FILE" help:"Configuration of a UPF: only what matters to it, which datapaths run on its devices, which one auto takes, and whether the one that is configured runs. None: everything, on any device that is up."`
	Programs bool     `help:"Load each eBPF program instead, and say what it costs the verifier, or why the kernel refuses it."`
	Logs     string   `type:"path" placeholder:"DIR" help:"With --programs: what the verifier says of each program that is refused goes to a file in DIR."`
	Device   []string `placeholder:"DEVICE" help:"Attach an XDP program that passes everything to DEVICE for a moment, to see whether that works. Some drivers reset the link. May be repeated."`
}

// Help is shown by plumb doctor --help.
func (Doctor) Help() string {
	return `Exit code 0 when the UPF runs here, 3 when not.

Nothing of the machine is changed: programs are loaded and let go, links are made in a namespace of their own, and
devices are only read, except those of --device.

Examples:

    plumb doctor
    plumb doctor --device eth1
    plumb doctor --config upf.yaml
    plumb doctor --programs --logs verifier/
    plumb doctor --json | jq '.datapaths[] | select(.runs) | .name'
    plumb doctor --json | jq '.checks[] | select(.status != "ok")'
`
}

// Run prints the report.
func (c *Doctor) Run(ctx context.Context, stdout io.Writer) error {
	switch {
	case c.Programs && (c.Config != "" || len(c.Device) > 0):
		return cli.Usage(errors.New("--programs is of the kernel alone: without --config and --device"))
	case c.Programs:
		return c.runPrograms(stdout)
	case c.Logs != "":
		return cli.Usage(errors.New("--logs DIR needs --programs"))
	}
	o := doctor.Options{Attach: c.Device, Objects: Objects()}
	if c.Config != "" {
		config, err := loadConfig(c.Config)
		if err != nil {
			return err
		}
		o.Configured = true
		if o.Devices = config.Devices(); config.Datapath != upf.DatapathAuto && config.Role() != upf.RoleN4 {
			o.Datapath = config.Datapath
		}
		o.Running = runningDatapath(ctx, config)
	}
	report := doctor.Examine(o)
	write := report.WriteTable
	if c.JSON {
		write = func(w io.Writer) error { return plainjson.Write(w, report) }
	}
	if err := write(stdout); err != nil {
		return err
	}
	switch {
	case report.UPFRunsHere:
		return nil
	case c.JSON:
		return fmt.Errorf("%s: %w", report.Summary(), errors.ErrUnsupported)
	}
	return cli.Told(errors.ErrUnsupported) // by the table's last line
}

// runningDatapath asks the UPF with this configuration, if it runs, with which datapath it
// does. One that does not answer, or has other devices, is not the one: it returns "".
func runningDatapath(ctx context.Context, c *upf.Config) string {
	if c.API.Socket == "" || len(c.Devices()) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client := upf.NewClient(c.API.Socket)
	running, err := client.Config(ctx)
	if err != nil || !slices.Equal(running.Devices(), c.Devices()) {
		return ""
	}
	d, err := client.Datapath(ctx)
	if err != nil {
		return ""
	}
	return d.Name
}
