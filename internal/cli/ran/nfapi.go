package rancmd

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// NFAPI is plumb nfapi: the nFAPI split of a gNB, its halves, and what measures and tests them.
type NFAPI struct {
	Decode  nfapiDecodeCommand  `cmd:"" help:"Take a message in hex, or a capture, apart."`
	Encode  nfapiEncodeCommand  `cmd:"" help:"Make a message, in hex, of the JSON that decode prints."`
	Analyze nfapiAnalyzeCommand `cmd:"" help:"Say of a capture what was late, missing or sent again, and how long it took."`
	Impair  nfapiImpairCommand  `cmd:"" help:"Relay P7 between VNF and PNF, and lose, delay and damage messages on the way."`
	VNF     nfapiVNFCommand     `cmd:"" name:"vnf" help:"Run the upper half of a split gNB: MAC and above."`
	PNF     nfapiPNFCommand     `cmd:"" name:"pnf" help:"Run the lower half of a split gNB: slot clock, simulated radio and UEs."`
	Mono    nfapiMonoCommand    `cmd:"" help:"Run a gNB in one process: what VNF and PNF are together, without nFAPI."`
	Demo    nfapiDemoCommand    `cmd:"" help:"Measure the split with ping and iperf3, and beside it a gNB in one process."`

	Conformance nfapiConformanceCommand `cmd:"" help:"Test a live PNF or VNF, anybody's, case by case."`
}

// Help is shown by plumb nfapi --help.
func (NFAPI) Help() string {
	return `nFAPI splits a 5G gNB in two: a VNF with MAC and above, and a PNF with the PHY. P5 between them configures (over TCP or SCTP), P7 carries what each slot has (over UDP). The messages are those of OpenAirInterface and NVIDIA Aerial.

Examples:

    plumb nfapi decode --plane p7 \
        --hex 00010082000000160007000000000001e24003ff0013
    plumb nfapi decode --plane p5 --hex 00010004000000000000 \
        | plumb nfapi encode --plane p5 --hex
    plumb nfapi decode --profile oai-2024 --plane p7 --hex - < message.hex
    plumb nfapi decode slots.pcap
    plumb nfapi analyze slots.pcap
    plumb nfapi demo
`
}

// nfapiPeer says whose messages they are.
type nfapiPeer struct {
	Profile string `default:"oai-2025" enum:"oai-2025,oai-2024,aerial" help:"Who sends such messages: oai-2025, oai-2024 (OpenAirInterface) or aerial (NVIDIA). Default: oai-2025."`
	Plane   string `default:"p7" enum:"p5,p7" help:"p5 (configuration) or p7 (each slot). Default: p7."`
}

func (c *nfapiPeer) parse() (nfapi.Profile, nfapi.Plane, error) {
	profile, err := nfapi.ParseProfile(c.Profile)
	if err != nil {
		return 0, 0, cli.Usage(err)
	}
	if c.Plane == "p5" {
		return profile, nfapi.P5, nil
	}
	return profile, nfapi.P7, nil
}

type nfapiDecodeCommand struct {
	File    string   `arg:"" optional:"" help:"A capture, pcap or pcapng; '-' is standard input."`
	Hex     string   `placeholder:"HEX" help:"In the place of a capture: one message with its header, in hex with or without blanks; '-' reads standard input."`
	Profile string   `default:"" enum:",oai-2025,oai-2024,aerial" help:"Who sends such messages: oai-2025, oai-2024 (OpenAirInterface) or aerial (NVIDIA). Default: oai-2025; of a capture, what each header says."`
	Plane   string   `default:"p7" enum:"p5,p7" help:"p5 (configuration) or p7 (each slot), with --hex. Default: p7."`
	JSON    bool     `name:"json" help:"Print the messages of a capture as JSON with every field, one to a line."`
	P5Port  []uint16 `name:"p5-port" default:"50000,50001" help:"TCP and SCTP ports of P5 in a capture. Default: 50000,50001."`
}

// Help is shown by plumb nfapi decode --help.
func (nfapiDecodeCommand) Help() string {
	return `With --hex, prints JSON with the header and all fields of one message, under the names that they have in OpenAirInterface. A wrong checksum is said in header.checksum_state. Octets that no field has are kept: PDUs of unknown type, vendor extensions, padding that is not zero. The exit code is 1 for a message that cannot be decoded; the error says where.

Of a capture, prints one line for each message of P7 and P5. IPv4 fragments and segments are put together. The exit code is 1 if a message could not be decoded.

Examples:

    plumb nfapi decode --plane p7 \
        --hex 00010082000000160007000000000001e24003ff0013
    plumb nfapi decode slots.pcap
    plumb nfapi decode slots.pcap --json \
        | jq 'select(.message.header.message == "CRC.indication")'
`
}

func (c *nfapiDecodeCommand) Run(out io.Writer) error {
	switch {
	case (c.Hex == "") == (c.File == ""):
		return cli.Usage(errors.New("give a capture file, or a message with --hex"))
	case c.File != "":
		return c.capture(out)
	}
	profile, plane, err := (&nfapiPeer{Profile: cmp.Or(c.Profile, "oai-2025"), Plane: c.Plane}).parse()
	if err != nil {
		return err
	}
	digits := c.Hex
	if digits == "-" {
		text, err := readLimited(os.Stdin, maxMessageHex)
		if err != nil {
			return err
		}
		digits = string(text)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	if err != nil {
		return cli.Usage(fmt.Errorf("--hex: %w", err))
	}
	if len(b) == 0 {
		return cli.Usage(errors.New("--hex: no octets"))
	}
	view, err := profile.JSON(plane, b)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, view, "", "  "); err != nil {
		return err
	}
	fmt.Fprintln(out, text.String())
	return nil
}

type nfapiEncodeCommand struct {
	nfapiPeer `embed:""`
	Hex       bool `help:"Print hex, the one form that there is."`
}

// Help is shown by plumb nfapi encode --help.
func (nfapiEncodeCommand) Help() string {
	return `Reads from standard input what 'plumb nfapi decode' prints, and prints the same octets in hex. Lengths and counts are computed; the checksum is written as it is given. A field that is not given is 0, a name that is not known is an error.

Examples:

    plumb nfapi decode --plane p7 \
        --hex 00010082000000160007000000000001e24003ff0013 \
        | plumb nfapi encode
    plumb nfapi encode --plane p5 --profile aerial < message.json
`
}

func (c *nfapiEncodeCommand) Run(out io.Writer) error {
	profile, plane, err := c.parse()
	if err != nil {
		return err
	}
	text, err := readLimited(os.Stdin, maxMessageJSON)
	if err != nil {
		return err
	}
	b, err := profile.FromJSON(plane, text)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, hex.EncodeToString(b))
	return nil
}

// What a message may take as text: hex with blanks between the octets, and JSON, where a
// number of one octet has a line of its own.
const (
	maxMessageHex  = 4 * nfapi.MaxMessage
	maxMessageJSON = 64 * nfapi.MaxMessage
)

// readLimited reads all of r, and refuses more than so many octets.
func readLimited(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = cli.Usage(fmt.Errorf("more than %d octets on standard input, a message has at most %d", most, nfapi.MaxMessage))
	}
	return text, err
}
