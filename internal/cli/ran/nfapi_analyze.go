package rancmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/analyze"
)

type nfapiAnalyzeCommand struct {
	File      string   `arg:"" help:"A capture, pcap or pcapng; '-' is standard input."`
	SlotAhead int      `default:"-1" placeholder:"SLOTS" help:"How many slots before its slot the PNF sends SLOT.indication: OpenAirInterface 4 (2025) or 6 (2024). Default: what time stamps say."`
	Window    int      `default:"30" help:"How many slots before its slot a request may come; what comes before that is early. Default: 30."`
	K1        int      `name:"k1" default:"0" placeholder:"SLOTS" help:"Least slots from a PDSCH to its HARQ feedback, 1 to 15. Default: what fits the feedback best."`
	Profile   string   `default:"" enum:",oai-2025,oai-2024,aerial" help:"Who sends such messages: oai-2025, oai-2024 (OpenAirInterface) or aerial (NVIDIA). Default: what each header says."`
	P5Port    []uint16 `name:"p5-port" default:"50000,50001" help:"TCP and SCTP ports of P5 in the capture. Default: 50000,50001."`
	JSON      string   `name:"json" placeholder:"FILE" help:"Write the figures as JSON (plumbline.nfapi-analysis/1); - is standard output, in the place of the text."`
	HTML      string   `name:"html" placeholder:"FILE" help:"Write the figures as one page with charts and tables that loads nothing else."`
}

// Help is shown by plumb nfapi analyze --help.
func (nfapiAnalyzeCommand) Help() string {
	return `Says of each PHY in a capture of P7, made by any VNF and PNF: when SLOT.indications came and which are missing; how long before their slot requests came, and how long after its SLOT.indication; what was late, early, doubled or lost; DL_TTI.request without TX_DATA.request; PUSCH without CRC, good CRC without RX_DATA; transport blocks, HARQ and CRC by RNTI; how long it takes from a scheduling request (SR) to the grant and to the CRC. At the end it lists what was wrong, with its time.

A request for slot n is late if it comes after SLOT.indication(n + slot ahead), which a PNF sends when slot n begins. How far ahead that is, a PNF that sets time stamps says itself; of OpenAirInterface's, which does not, give --slot-ahead, or there are no leads. The nearer to the PNF a capture was made, the better is what it says about lateness.

Examples:

    tcpdump -i lo -w p7.pcap udp port 50010
    plumb nfapi analyze p7.pcap
    plumb nfapi analyze --slot-ahead 4 oai.pcap --html oai.html
    plumb nfapi analyze p7.pcap --json - | jq '.cells[].broken'
`
}

// Run analyzes the capture and prints what came of it.
func (c *nfapiAnalyzeCommand) Run(stdout io.Writer) error {
	options := analyze.Options{P5Ports: c.P5Port, SlotAhead: c.SlotAhead, Window: c.Window, K1: c.K1}
	if c.Profile != "" {
		p, err := nfapi.ParseProfile(c.Profile)
		if err != nil {
			return cli.Usage(err)
		}
		options.Profile = &p
	}
	if c.SlotAhead > analyze.MaxSlotAhead || c.Window < 1 {
		return cli.Usage(fmt.Errorf("--slot-ahead %d, --window %d: want at most %d slots ahead, and a window of 1 at least", c.SlotAhead, c.Window, analyze.MaxSlotAhead))
	}
	if c.K1 < 0 || c.K1 > analyze.MaxK1 {
		return cli.Usage(fmt.Errorf("--k1 %d: want 1 to %d", c.K1, analyze.MaxK1))
	}
	in, err := c.open()
	if err != nil {
		return err
	}
	defer in.Close()
	files, err := cli.OpenOutputs(cli.To(c.JSON, writeAnalysis), cli.To(c.HTML, func(w io.Writer, a *analyze.Analysis) error {
		return report.AnalysisHTML(w, a, "plumb "+strings.Join(os.Args[1:], " "))
	}))
	if err != nil {
		return cli.Usage(err)
	}
	result, err := analyze.Read(in, options)
	if err == nil {
		err = result.Seen()
	}
	if err != nil {
		return errors.Join(cli.InputError(fmt.Errorf("%s: %w", c.File, err)), files.Discard())
	}
	show := func(w io.Writer, a *analyze.Analysis) error { return a.Print(w) }
	if c.JSON == "-" {
		show = writeAnalysis
	}
	return errors.Join(files.Write(result), show(stdout, result))
}

// open opens the capture. Standard input is kept in a file, since it is read twice.
func (c *nfapiAnalyzeCommand) open() (*os.File, error) {
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, cli.InputError(err)
		}
		return f, nil
	}
	f, err := os.CreateTemp("", "plumb-nfapi-*.pcap")
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, os.Stdin)
	_, rewound := f.Seek(0, io.SeekStart)
	if err := errors.Join(err, rewound, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func writeAnalysis(w io.Writer, a *analyze.Analysis) error { return plainjson.Write(w, a) }
