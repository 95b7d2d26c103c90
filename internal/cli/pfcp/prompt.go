package pfcpcmd

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/internal/wordwrap"
	"github.com/plumbline-upf/plumbline/lab/pfcpsim"
)

type promptCommand struct {
	peer `embed:""`
}

// Help is shown by plumb pfcp prompt --help.
func (promptCommand) Help() string {
	return `Reads steps from standard input, one to a line, as they stand in scenarios, and does each at once. A line that ends in \ goes on in the next one. Messages are printed. 'help' lists what can be done; an empty line only answers what the UP function has asked meanwhile.

Examples:

    plumb pfcp prompt --upf 10.0.0.1
    pfcp> associate
    pfcp> establish: {Create PDR: {PDR ID: 1, Precedence: 1, FAR ID: 1, \
    ...     PDI: {Source Interface: Access, F-TEID: choose}}, \
    ...   Create FAR: {FAR ID: 1, Apply Action: DROP}}
    pfcp> delete
`
}

func (c *promptCommand) Run(ctx context.Context, out io.Writer) error {
	p, err := c.open(out, true)
	if err != nil {
		return err
	}
	defer p.Close()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	typed := term.IsTerminal(os.Stdin)
	prompt := func(text string) {
		if typed && !c.JSON {
			fmt.Fprint(out, text)
		}
	}
	number := 0
	for prompt("pfcp> "); ctx.Err() == nil && lines.Scan(); prompt("pfcp> ") {
		line := strings.TrimSpace(lines.Text())
		for head, more := strings.CutSuffix(line, `\`); more; head, more = strings.CutSuffix(line, `\`) {
			if prompt("...   "); !lines.Scan() {
				break
			}
			line = head + strings.TrimSpace(lines.Text())
		}
		switch line {
		case "": // what the UP function has sent meanwhile is read and answered
			_ = p.Do(ctx, pfcpsim.Step{Verb: "wait", With: "1ms"})
			continue
		case "help":
			fmt.Fprintln(out, strings.Join(wordwrap.Lines(strings.Join(pfcpsim.Verbs(), " "), term.Columns), "\n"))
			continue
		case "quit", "exit":
			return nil
		}
		step, err := pfcpsim.ParseStep(line)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		number++
		r := p.Do(ctx, step)
		c.tell(out, "", number, r)
		if r.Err != nil && !c.JSON {
			fmt.Fprintln(os.Stderr, r.Err)
		}
	}
	return lines.Err()
}

type decodeCommand struct {
	Hex  []string `arg:"" optional:"" help:"Messages in hex, blanks as they come. Default: standard input, one to a line."`
	JSON bool     `name:"json" help:"Print JSON, one message to a line."`
}

// Help is shown by its --help.
func (decodeCommand) Help() string {
	return cli.Examples("plumb pfcp decode 2001000c00000100006000040badcafe", "plumb pfcp decode --json < messages.hex")
}

func (c decodeCommand) Run(out io.Writer) error {
	if len(c.Hex) > 0 {
		return c.decode(out, strings.Join(c.Hex, ""))
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := c.decode(out, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (c decodeCommand) decode(out io.Writer, digits string) error {
	b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	if err != nil {
		return cli.Usage(err)
	}
	if len(b) == 0 {
		return nil
	}
	m, err := pfcpsim.NewMessage(b, false)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Lines(out).Encode(m)
	}
	term.PrintLines(out, m.String())
	return nil
}
