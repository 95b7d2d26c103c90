package rancmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/nfapi"
	nfapicapture "github.com/plumbline-upf/plumbline/nfapi/capture"
)

// nfapiEvent is a message of a capture as JSON.
type nfapiEvent struct {
	Time     time.Time       `json:"time"`
	From     string          `json:"from"`
	To       string          `json:"to"`
	Plane    string          `json:"plane"`
	Profile  string          `json:"profile"`
	Segments int             `json:"segments"`
	Message  json.RawMessage `json:"message,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// capture prints what a capture file holds.
func (c *nfapiDecodeCommand) capture(out io.Writer) error {
	options := nfapicapture.Options{P5Ports: c.P5Port}
	if c.Profile != "" {
		p, err := nfapi.ParseProfile(c.Profile)
		if err != nil {
			return cli.Usage(err)
		}
		options.Profile = &p
	}
	in := os.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return cli.InputError(err)
		}
		defer f.Close()
		in = f
	}
	w := bufio.NewWriter(out)
	printer := nfapiPrinter{out: w, json: plainjson.Lines(w)}
	show := printer.line
	if c.JSON {
		show = printer.record
	}
	stats, err := nfapicapture.Read(in, options, show)
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return cli.InputError(fmt.Errorf("%s: %w", c.File, err))
	}
	printNfapiCapture(os.Stderr, &stats)
	switch {
	case stats.Failed > 0:
		return fmt.Errorf("%s: %d messages could not be decoded", c.File, stats.Failed)
	case stats.Incomplete > 0:
		return fmt.Errorf("%s: %d messages are %w", c.File, stats.Incomplete, nfapicapture.ErrCut)
	case stats.Messages == 0 && len(stats.Notes()) > 0:
		return fmt.Errorf("%s: no message: %s", c.File, strings.Join(stats.Notes(), "; "))
	}
	return nil
}

// printNfapiCapture says what a capture held, and what of it could not be looked at.
func printNfapiCapture(w io.Writer, s *nfapicapture.Stats) {
	fmt.Fprintf(w, "plumb: %d packets, %d messages, %d not decoded, %d segments, %d octets of P5 missing\n", s.Packets, s.Messages, s.Failed, s.Segments, s.Lost)
	for _, line := range s.Notes() {
		fmt.Fprintf(w, "plumb: %s\n", line)
	}
}

type nfapiPrinter struct {
	out   io.Writer
	json  *json.Encoder
	first time.Time
}

// record prints a message as JSON.
func (p *nfapiPrinter) record(e *nfapicapture.Event) error {
	r := nfapiEvent{Time: e.At.UTC(), From: e.From.String(), To: e.To.String(), Plane: e.Plane.String(), Profile: e.Profile.String(), Segments: e.Segments}
	switch {
	case errors.Is(e.Err, nfapicapture.ErrCut):
		r.Error = fmt.Sprintf("%v: %v", e.Header.MessageID, e.Err)
	case e.Err != nil:
		r.Error = e.Err.Error()
	default:
		r.Message = e.Profile.View(e.Plane, &e.Header, e.Checksum, e.Expected, e.Message)
	}
	return p.json.Encode(r)
}

// line prints a message in one line: seconds since the first, peers, profile,
// message, slot, what it has, and what is wrong with it.
func (p *nfapiPrinter) line(e *nfapicapture.Event) error {
	if p.first.IsZero() {
		p.first = e.At
	}
	notes := []string{fmt.Sprintf("%d octets", e.Octets)}
	if n := nfapiElements(e.Message); n != "" {
		notes = append(notes, n)
	}
	if e.Segments > 1 {
		notes = append(notes, fmt.Sprintf("%d segments", e.Segments))
	}
	if e.Checksum == nfapi.ChecksumWrong {
		notes = append(notes, fmt.Sprintf("checksum %08x is wrong, %08x is right", e.Header.Checksum, e.Expected))
	}
	if e.Err != nil {
		notes = append(notes, e.Err.Error())
	}
	slot := ""
	if sfn, n, ok := nfapi.SlotOf(e.Message); ok {
		slot = fmt.Sprintf(" %d.%d", sfn, n)
	}
	_, err := fmt.Fprintf(p.out, "%12.6f %s > %s %s %s phy %d %s%s: %s\n", e.At.Sub(p.first).Seconds(), e.From, e.To, e.Plane, e.Profile,
		e.Header.PhyID, e.Header.MessageID, slot, strings.Join(notes, ", "))
	return err
}

// nfapiElements says how much a message has.
func nfapiElements(m nfapi.Message) string {
	switch m := m.(type) {
	case *nfapi.DLTTIRequest:
		return fmt.Sprintf("%d PDUs", len(m.PDUs))
	case *nfapi.ULTTIRequest:
		return fmt.Sprintf("%d PDUs", len(m.PDUs))
	case *nfapi.ULDCIRequest:
		return fmt.Sprintf("%d PDUs", len(m.PDUs))
	case *nfapi.TXDataRequest:
		return fmt.Sprintf("%d transport blocks", len(m.PDUs))
	case *nfapi.RXDataIndication:
		return fmt.Sprintf("%d transport blocks", len(m.PDUs))
	case *nfapi.CRCIndication:
		return fmt.Sprintf("%d CRCs", len(m.CRCs))
	case *nfapi.UCIIndication:
		return fmt.Sprintf("%d UCIs", len(m.UCIs))
	case *nfapi.RACHIndication:
		return fmt.Sprintf("%d occasions", len(m.PDUs))
	case *nfapi.SRSIndication:
		return fmt.Sprintf("%d SRSs", len(m.PDUs))
	case *nfapi.ConfigRequest:
		return fmt.Sprintf("%d TLVs", len(m.TLVs))
	}
	return ""
}
