package rancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/conformance"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

type nfapiConformanceCommand struct {
	PNF     string         `name:"pnf" xor:"peer" placeholder:"ADDRESS" help:"Test a PNF. The test listens at this host:port of P5, where the PNF looks for its VNF, and waits for it."`
	VNF     string         `name:"vnf" xor:"peer" placeholder:"ADDRESS" help:"Test a VNF. It listens for PNFs at this host:port of P5; the test connects to it as one."`
	Profile string         `default:"oai-2025" enum:"oai-2025,oai-2024,aerial" help:"Who the peer is: oai-2025, oai-2024 (OpenAirInterface) or aerial (NVIDIA). Default: oai-2025."`
	Network string         `default:"auto" enum:"auto,tcp,sctp,sctp-udp" help:"What carries P5: auto, tcp, sctp or sctp-udp. Default: auto."`
	UDPPort uint16         `name:"sctp-udp-port" placeholder:"PORT" help:"UDP port of P5 with --network sctp-udp. Default: 9899, that of RFC 6951."`
	From    []netip.Prefix `placeholder:"PREFIX" help:"Take connections of PNFs from here only. Default: from anywhere."`
	P7      netip.AddrPort `name:"p7" placeholder:"ADDRESS" help:"Own address and port of P7. Default: the address of P5, any port."`
	Config  string         `placeholder:"FILE" help:"The radio: section of this file is the cell that a PNF is configured with. Default: that of plumb nfapi vnf."`

	Case     string        `placeholder:"GLOB" help:"Only cases whose name fits, e.g. 'window/*'."`
	List     bool          `help:"List the cases and what each of them says, and do nothing. With neither --pnf nor --vnf: all."`
	Seed     uint64        `default:"1" help:"Seed of what is random: the same one sends the same messages. Default: 1."`
	Fuzz     int           `default:"200" help:"How many random messages of each kind. Default: 200."`
	Timeout  time.Duration `default:"2s" help:"How long an answer may take. Default: 2s."`
	Connect  time.Duration `default:"30s" help:"How long the peer may take to be there, at first and after a connection ended. Default: 30s."`
	Patience time.Duration `default:"15s" help:"How long a VNF may take to act when an answer does not come. Default: 15s."`

	JSON  string `name:"json" placeholder:"FILE" help:"Write all steps as JSON (plumbline.nfapi-conformance/1); - is standard output, in the place of the table."`
	JUnit string `name:"junit" placeholder:"FILE" help:"Write the cases as JUnit XML, for a CI server."`
	Plain bool   `help:"Show progress as lines of a log, on a terminal as well."`
}

// Help is shown by plumb nfapi conformance --help.
func (nfapiConformanceCommand) Help() string {
	return `Tests a live PNF or VNF, anybody's, from outside: it takes the part of the other half of the split, goes through its cases, and says of each whether it passed, and of one that failed what was sent, what was expected and what came. The exit code is 1 if a case failed or could not be run.

For a PNF: each message of P5 in each state; TLVs that are wrong, in all forms of the TDD table; random and broken messages, after which it has to serve; START and STOP again; the timing window to the slot, around the SFN wrap as well; duplicates, bounds, unknown PDUs, checksums, segments, half pairs; node sync and TIMING_INFO. Whether a request was carried out is seen by CRC.indication for its PUSCH.

For a VNF: the order of the procedure; answers that are errors, or do not come; reconnection; SLOT.indications lost, doubled, out of order, around the SFN wrap; lead times; indications that are beyond all bounds.

The peer is reconfigured, stopped and disturbed again and again: do not test what others use.

Examples:

    plumb nfapi conformance --list
    plumb nfapi conformance --pnf 192.0.2.1:50001 --config vnf.yaml
    plumb nfapi conformance --pnf :50001 --case 'window/*' --json -
    plumb nfapi conformance --vnf 192.0.2.9:50001 --network tcp --junit vnf.xml
`
}

// Validate refuses flags that contradict each other.
func (c *nfapiConformanceCommand) Validate() error {
	if c.PNF == "" && c.VNF == "" && !c.List {
		return errors.New("missing flags: --pnf=ADDRESS or --vnf=ADDRESS")
	}
	if c.Fuzz < 1 || c.Timeout <= 0 || c.Connect <= 0 || c.Patience <= 0 {
		return errors.New("--fuzz, --timeout, --connect and --patience are above 0")
	}
	if c.UDPPort != 0 && c.Network != "sctp-udp" {
		return fmt.Errorf("--sctp-udp-port %d goes with --network sctp-udp, not %s", c.UDPPort, c.Network)
	}
	if _, err := conformance.Match(c.Case, ""); err != nil {
		return fmt.Errorf("--case %q: %w", c.Case, err)
	}
	return nil
}

// Run lists the cases, or goes through them.
func (c *nfapiConformanceCommand) Run(ctx context.Context, stdout io.Writer) error {
	if c.List {
		return c.list(stdout)
	}
	config, err := c.config()
	if err != nil {
		return err
	}
	files, err := cli.OpenOutputs(
		cli.To(c.JSON, func(w io.Writer, r *conformance.Report) error { return plainjson.Write(w, r) }),
		cli.To(c.JUnit, func(w io.Writer, r *conformance.Report) error { return r.WriteJUnit(w) }))
	if err != nil {
		return cli.Usage(err)
	}
	p := term.NewProgress(os.Stderr, "nfapi conformance", c.Plain)
	began := time.Now()
	config.Begin = func(done, all int, name string) {
		each := time.Since(began) / time.Duration(max(done, 1)) // as those before
		p.Begin(term.Step{
			Name:     fmt.Sprintf("%d of %d: %s", done+1, all, name),
			Expected: each, Before: each * time.Duration(done), Total: each * time.Duration(all),
		})
	}
	config.Listening = func(at netip.AddrPort) { p.Tell("waiting for the PNF at " + at.String()) }
	r, err := conformance.Run(ctx, config)
	p.Close()
	if err != nil {
		if errors.Is(err, conformance.ErrConfig) {
			err = cli.Usage(err)
		}
		return errors.Join(err, files.Discard())
	}
	show := r.Print
	if c.JSON == "-" {
		show = func(w io.Writer) error { return plainjson.Write(w, r) }
	}
	err = errors.Join(files.Write(r), show(stdout))
	if !r.OK() {
		err = errors.Join(err, fmt.Errorf("conformance: cases failed: %d, not run: %d", r.Failed, r.NotRun))
	}
	return err
}

// config is what is asked for.
func (c *nfapiConformanceCommand) config() (conformance.Config, error) {
	profile, err := nfapi.ParseProfile(c.Profile)
	if err != nil {
		return conformance.Config{}, cli.Usage(err)
	}
	config := conformance.Config{
		Peer: conformance.PNF, Profile: profile, Network: c.Network, Address: c.PNF, SCTPUDPPort: c.UDPPort, From: c.From, P7: c.P7,
		Timeout: c.Timeout, Connect: c.Connect, Patience: c.Patience, Seed: c.Seed, Fuzz: c.Fuzz, Cases: c.Case,
	}
	if c.VNF != "" {
		config.Peer, config.Address = conformance.VNF, c.VNF
		return config, nil
	}
	cellOf, err := c.radio()
	if err != nil {
		return config, err
	}
	cell, err := cellOf.Cell()
	if err != nil {
		return config, cli.Usage(err)
	}
	config.Cell = *cell
	return config, nil
}

// radio reads the radio: section of the file, which has others as well.
func (c *nfapiConformanceCommand) radio() (radio.Config, error) {
	r := radio.Default()
	if c.Config == "" {
		return r, nil
	}
	file := struct {
		Radio  radio.Config   `yaml:"radio"`
		Others map[string]any `yaml:",inline"`
	}{Radio: r}
	err := yamltext.Load(c.Config, &file, func(m *yamltext.Checks) { m.Under("radio", file.Radio.Validate()) })
	return file.Radio, cli.FileError("conformance", err)
}

// list prints the cases.
func (c *nfapiConformanceCommand) list(stdout io.Writer) error {
	t := term.NewTable(stdout, "PEER", "CASE", "RULE")
	for _, peer := range []conformance.Peer{conformance.PNF, conformance.VNF} {
		if c.PNF != "" && peer != conformance.PNF || c.VNF != "" && peer != conformance.VNF {
			continue
		}
		for _, one := range conformance.Cases(peer) {
			if ok, _ := conformance.Match(c.Case, one.Name); ok {
				t.Row(peer, one.Name, one.Says)
			}
		}
	}
	return t.Flush()
}
