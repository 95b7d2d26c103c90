// Package random compares a datapath with another one, usually with the model,
// by scripts that are made at random: sessions that come, change and go, and
// packets that meet their rules, nearly meet them, or are hostile.
//
//	seed ► Generate ► Script ► Run on both ► the same? ─no─► Shrink ► a text file that is replayed for ever
//
// Values come from small sets, so that things collide: TEIDs, addresses, ports,
// rates that are used up by three packets. A script is run on both datapaths step
// by step, and after each step all that can be seen is compared: what leaves, octet
// for octet and in its order, reasons, usage of rules and URRs, events, refusals.
// The clock is the script's, so that meters agree to the packet, too.
//
// What is not compared: events in their order within a step, which of several PDRs
// an ERROR_INDICATION names, Ethernet headers, and whether the counts of a rule
// survive a change of its match, which is open.
package random

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// Step is one thing that is done to a datapath: exactly one of Change, Frame and
// Wait is there.
type Step struct {
	Change *api.Change
	Port   conformance.Port
	Frame  []byte        // from the Ethernet header on, without FCS
	Note   string        // what the frame was before it was spoilt
	Traits []string      // what is remarkable about it, for [Coverage]; not a part of the text
	Wait   time.Duration // the clock goes on
}

// Script is what is done, in its order.
type Script []Step

// The lines of a script's text: one step each, "#" begins a comment.
const (
	wordApply = "apply"
	wordWait  = "wait"
)

// portWords begin the line of a frame: where it arrives.
var portWords = map[conformance.Port]string{
	conformance.N3: "n3", conformance.N6: "n6", conformance.N6Corp: "corp", conformance.N6NAT: "nat",
	lanPort: "lan",
}

// String returns the script as text that [Parse] reads.
func (s Script) String() string {
	var b strings.Builder
	for _, step := range s {
		switch {
		case step.Change != nil:
			fmt.Fprintf(&b, "%s %s\n", wordApply, plain(step.Change))
		case step.Frame != nil:
			fmt.Fprintf(&b, "%s %s # %s\n", portWords[step.Port], digits(step.Frame), step.Note)
		default:
			fmt.Fprintf(&b, "%s %v\n", wordWait, step.Wait)
		}
	}
	return b.String()
}

// manyZeros is how many octets of 0 are written as their number.
const manyZeros = 16

// digits writes octets in hex, and many octets of 0 as "0*" and their number.
func digits(frame []byte) string {
	var parts []string
	for len(frame) > 0 {
		n := bytes.Index(frame, make([]byte, manyZeros))
		if n < 0 {
			n = len(frame)
		}
		zeros := 0
		for n+zeros < len(frame) && frame[n+zeros] == 0 {
			zeros++
		}
		if n > 0 {
			parts = append(parts, hex.EncodeToString(frame[:n]))
		}
		if zeros > 0 {
			parts = append(parts, fmt.Sprintf("0*%d", zeros))
		}
		frame = frame[n+zeros:]
	}
	return strings.Join(parts, " ")
}

func parseDigits(text string) ([]byte, error) {
	var frame []byte
	for _, part := range strings.Fields(text) {
		if count, ok := strings.CutPrefix(part, "0*"); ok {
			n, err := strconv.ParseUint(count, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", part, err)
			}
			frame = append(frame, make([]byte, n)...)
			continue
		}
		b, err := hex.DecodeString(part)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		frame = append(frame, b...)
	}
	return frame, nil
}

// plain is the change in JSON without the blanks that protojson puts in at its
// whim.
func plain(c *api.Change) []byte {
	text, err := protojson.Marshal(c)
	if err != nil {
		panic(err) // a message of ours is always valid
	}
	var out []byte
	quoted := false
	for i, ch := range text {
		if ch == '"' && (i == 0 || text[i-1] != '\\') {
			quoted = !quoted
		}
		if ch != ' ' || quoted {
			out = append(out, ch)
		}
	}
	return out
}

// Parse reads what [Script.String] wrote.
func Parse(text []byte) (Script, error) {
	var s Script
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("random: line %d: %w", n, err)
		}
		s = append(s, step)
	}
	return s, lines.Err()
}

func parseStep(line string) (Step, error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case wordApply:
		c := &api.Change{}
		return Step{Change: c}, protojson.Unmarshal([]byte(rest), c)
	case wordWait:
		d, err := time.ParseDuration(rest)
		return Step{Wait: d}, err
	}
	for port, name := range portWords {
		if name == word {
			octets, note, _ := strings.Cut(rest, "#")
			frame, err := parseDigits(octets)
			return Step{Port: port, Frame: frame, Note: strings.TrimSpace(note)}, err
		}
	}
	return Step{}, fmt.Errorf("%q is no step", word)
}
