// Package rancmd has the commands of the radio access network: plumb gnb, with the SMF that it is
// beside, and plumb nfapi, whose commands run the halves of a split gNB, measure and test them,
// and take their messages apart.
package rancmd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// GNB is plumb gnb: a gNB with UE devices, over GTP-U to any UPF.
type GNB struct {
	Config   string        `placeholder:"FILE" help:"Configuration file (YAML); deploy/gnb.yaml explains every key."`
	N4       netip.Addr    `name:"n4" placeholder:"ADDRESS" help:"Be the SMF, too: set up the UEs' sessions at the UPF with this N4 address, and let it choose the uplink F-TEIDs."`
	SMF      netip.Addr    `name:"smf" placeholder:"ADDRESS" help:"Own N4 address with --n4; without it, the one that the route to the UPF has."`
	Dialect  gnbDialect    `embed:""`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`
	JSON     bool          `name:"json" help:"Print the counts as JSON."`

	Start       gnbRun         `cmd:"" name:"run" default:"withargs" help:"Run the gNB until SIGINT or SIGTERM (the default)."`
	CheckConfig gnbCheckConfig `cmd:"" help:"Check a configuration file, with --n4 one for sessions that are set up over N4; start nothing."`
}

type gnbCheckConfig struct{ cli.CheckFile }

// Help is shown by its --help.
func (gnbCheckConfig) Help() string {
	return cli.Examples("plumb gnb check-config gnb.yaml", "plumb gnb check-config --n4 10.3.0.1 gnb.yaml")
}

// Run says "ok", or all that is wrong.
func (c *gnbCheckConfig) Run(stdout io.Writer, command *GNB) error {
	return c.Check(stdout, command.Config, func(file string) error { _, err := command.read(file); return err })
}

// read reads the configuration, which has to be complete unless there is N4.
func (c *GNB) read(file string) (gnb.Config, error) {
	if !c.N4.IsValid() && c.Dialect != (gnbDialect{}) {
		return gnb.Config{}, cli.Usage(errors.New("--dnn, --n3-instance, --n6-instance and --interface-types are said over N4: want --n4"))
	}
	config, err := gnb.ReadConfig(file, c.N4.IsValid())
	return config, gnbUsage(cli.InputError(err))
}

type gnbRun struct{}

// Help is shown by its --help.
func (gnbRun) Help() string {
	return cli.Examples("plumb gnb --config gnb.yaml", "plumb gnb run --config gnb.yaml")
}

// gnbDialect is what some UPFs insist on in a session: flags of plumb gnb, and keys of
// [nfapiCore].
type gnbDialect struct {
	DNN            string `name:"dnn" yaml:"dnn" placeholder:"NAME" help:"With --n4: DNN of the sessions. Default: none."`
	N3Instance     string `name:"n3-instance" yaml:"n3_instance" placeholder:"NAME" help:"With --n4: Network Instance of N3. Default: none."`
	N6Instance     string `name:"n6-instance" yaml:"n6_instance" placeholder:"NAME" help:"With --n4: Network Instance of N6. Default: none."`
	InterfaceTypes bool   `name:"interface-types" yaml:"interface_types" help:"With --n4: say with each interface its 3GPP Interface Type, N3 or N6, as Open5GS needs it."`
}

// dialect is that in the words of package n4load.
func (d *gnbDialect) dialect() n4load.Dialect {
	return n4load.Dialect{DNN: d.DNN, AccessInstance: d.N3Instance, CoreInstance: d.N6Instance, InterfaceTypes: d.InterfaceTypes}
}

// Help is shown by plumb gnb --help.
func (GNB) Help() string {
	return `Makes a TUN device for each UE of its configuration and carries what programs send through them over GTP-U to a UPF, and back. Any UPF will do. At the end it prints what it has counted.

Needs CAP_NET_ADMIN, and CAP_SYS_ADMIN if the configuration names network namespaces; root has them.

Examples:

    plumb gnb check-config gnb.yaml
    plumb gnb --config gnb.yaml
    plumb gnb check-config --n4 10.3.0.1 gnb.yaml
    plumb gnb --config gnb.yaml --n4 10.3.0.1
    plumb gnb --config gnb.yaml --n4 10.3.0.1 --dnn internet --interface-types
    plumb gnb --config gnb.yaml --duration 60s --json
`
}

// Run is the gNB as a process.
func (gnbRun) Run(ctx context.Context, stdout io.Writer, c *GNB) (err error) {
	if err := cli.WantConfig(c.Config, "plumb gnb"); err != nil {
		return err
	}
	config, err := c.read(c.Config)
	if err != nil {
		return err
	}
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	var s *smf
	if c.N4.IsValid() {
		if s, err = establish(ctx, c.N4, c.SMF, c.Dialect.dialect(), &config, log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
	}
	return c.carry(ctx, config, s, log, stdout)
}

// carry runs the gNB until ctx ends and prints what it has counted. s keeps its sessions; nil:
// somebody else does.
func (c *GNB) carry(ctx context.Context, config gnb.Config, s *smf, log *slog.Logger, stdout io.Writer) error {
	g, err := gnb.New(config, log)
	if err != nil {
		return gnbUsage(err)
	}
	cli.LimitMemory(ctx, log)
	log.Info("up", "n3", config.N3.Address, "ues", len(config.UEs), "mtu", g.MTU())
	stop := s.keep(ctx, g)
	err = g.Run(ctx)
	stop()
	return errors.Join(err, c.print(stdout, g.Stats()))
}

// gnbUsage makes a wrong configuration wrong usage.
func gnbUsage(err error) error {
	if errors.Is(err, gnb.ErrConfig) {
		return cli.Usage(err)
	}
	return err
}

func (c *GNB) print(stdout io.Writer, s gnb.Stats) error {
	if !c.JSON {
		return s.Print(stdout)
	}
	return plainjson.Write(stdout, s)
}
