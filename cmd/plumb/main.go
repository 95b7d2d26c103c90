// Command plumb is a 5G user plane (UPF), a laboratory that measures any UPF,
// and the small tools around both.
//
// The commands are in packages below internal/cli, one for each family. A command is one
// struct: its fields are the flags, its Run method turns them into the configuration of the
// package that does the work, and nothing else. Run may ask for a [context.Context], cancelled
// by SIGINT, SIGTERM and, but for a UPF without a terminal, SIGHUP, and for an [io.Writer],
// standard output. Results go there, logs to standard error.
//
// The exit code is 0 for done, 1 for failed, 2 for a wrong command line or
// configuration, 3 for what this machine, kernel or device does not support
// ([cli.ExitCode]).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/plumbline-upf/plumbline/internal/cli"
	labcmd "github.com/plumbline-upf/plumbline/internal/cli/lab"
	pfcpcmd "github.com/plumbline-upf/plumbline/internal/cli/pfcp"
	probecmd "github.com/plumbline-upf/plumbline/internal/cli/probe"
	rancmd "github.com/plumbline-upf/plumbline/internal/cli/ran"
	upfcmd "github.com/plumbline-upf/plumbline/internal/cli/upf"
	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/internal/term"
)

// commands has one field per command, in the order of --help.
type commands struct {
	Doctor   upfcmd.Doctor   `cmd:"" help:"Say what this machine, kernel and devices can do."`
	UPF      upfcmd.UPF      `cmd:"" name:"upf" help:"Run a UPF: PFCP on N4, packets between N3 and N6."`
	N4       upfcmd.N4       `cmd:"" name:"n4" help:"Run the control plane of a UPF alone: PFCP on N4, Redis towards the datapaths."`
	Datapath upfcmd.Datapath `cmd:"" help:"Run a datapath of a UPF alone, for plumb n4."`
	GNB      rancmd.GNB      `cmd:"" name:"gnb" help:"Run a gNB: UE devices over GTP-U to any UPF."`
	Bench    labcmd.Bench    `cmd:"" help:"Measure the UPF beside the limit of the test bed."`
	Lab      labcmd.Lab      `cmd:"" help:"Measure any UPF: throughput, latency, loss, N4 load, correctness of rules."`
	Slices   labcmd.Slices   `cmd:"" help:"Measure how long packets of three slices stay in UPFs while real programs use them."`
	Probe    probecmd.Probe  `cmd:"" help:"Measure how long each slice's packets stay in UPFs of any make that run on this machine."`
	P4Switch upfcmd.P4Switch `cmd:"" name:"p4switch" help:"Run a software switch: a P4 program for v1model between Ethernet devices, reached by P4Runtime."`
	PFCP     pfcpcmd.PFCP    `cmd:"" name:"pfcp" help:"Be a CP function: run scenarios and the dialects of real SMFs against any UPF."`
	NFAPI    rancmd.NFAPI    `cmd:"" name:"nfapi" help:"Run, measure and test the nFAPI split of a 5G gNB (VNF and PNF), and take its messages apart."`
	Sessions upfcmd.Sessions `cmd:"" help:"List the PFCP sessions of the running UPF."`
	Show     upfcmd.Show     `cmd:"" help:"Show a session, associations, slices, datapath, peers or configuration of the running UPF."`
	Drops    upfcmd.Drops    `cmd:"" help:"Say how many packets the running UPF dropped, and why."`
	Trace    upfcmd.Trace    `cmd:"" help:"Follow chosen packets through the running UPF: which rules, where to, why dropped."`
	Move     upfcmd.Move     `cmd:"" help:"Let another datapath forward the packets of the running UPF."`
	Version  cli.Version     `cmd:"" help:"Print version, commit and Go toolchain."`
}

const description = `A 5G user plane that you can run, and a stopwatch for every hop of it.

Results go to standard output, logs to standard error. Exit code: 0 done, 1 failed, 2 wrong command line or ` +
	`configuration, 3 not supported by this machine, kernel or device.`

// commit is set by the Makefile (-ldflags -X main.commit=...), because a build
// with -buildvcs=false, or from an archive, does not know it.
var commit string

func main() {
	cli.Commit = commit
	// A panic ends in SIGABRT, whose exit status is not that of a wrong command line.
	debug.SetTraceback("crash")
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	ctx, cancel := context.WithCancel(ctx)
	stdout := term.NewStdout(os.Stdout, cancel)
	err := run(ctx, os.Args[1:], stdout)
	stop()
	cancel()
	err = stdout.End(err)
	if err != nil && !errors.Is(err, term.ErrUnread) && !cli.IsTold(err) {
		fmt.Fprintf(os.Stderr, "plumb: %s\n", printable.Lines(cli.PlainWords(err.Error())))
	}
	os.Exit(cli.ExitCode(err))
}

// endSignals are those at which a command ends in order, and leaves nothing behind. That
// a terminal was closed (SIGHUP) is one of them, unless nohup said not to mind.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// run parses args and runs the command that they name.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	parser, err := kong.New(&commands{},
		kong.Name("plumb"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Writers(stdout, os.Stderr),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(stdout, (*io.Writer)(nil)),
	)
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "help" { // as people type it: plumb help bench
		args = append(slices.Clone(args[1:]), "--help")
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return cli.UsageHint(err)
	}
	if err := emptyList(parsed.Flags()); err != nil {
		return err
	}
	return parsed.Run()
}

// emptyList says which flag was given a list without a value, as by --sessions "$N" of a variable
// that is not set.
func emptyList(flags []*kong.Flag) error {
	for _, f := range flags {
		if f.Set && f.Target.Kind() == reflect.Slice && f.Target.Len() == 0 {
			return cli.Usage(fmt.Errorf("--%s: want at least one value", f.Name))
		}
	}
	return nil
}
