package pfcpsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// TestGolden takes each golden message apart and puts it together again: no IE
// is lost, and none of them is unknown.
func TestGolden(t *testing.T) {
	for _, v := range pfcptest.Good(t) {
		t.Run(v.Name, func(t *testing.T) {
			m, err := NewMessage(v.Octets, true)
			if err != nil {
				t.Fatal(err)
			}
			b, err := AppendNodes(nil, m.IEs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Text(m.IEs), Text(ParseNodes(b))); diff != "" {
				t.Errorf("-first +again\n%s", diff)
			}
			if !strings.HasPrefix(m.String(), "-> "+m.Header.Type.String()) {
				t.Errorf("got %s", m)
			}
			if b, err := json.Marshal(m); err != nil || !json.Valid(b) {
				t.Errorf("%s: %v", b, err)
			}
		})
	}
}

// TestBuild makes IEs of what scenarios have for them, octet for octet.
func TestBuild(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"{F-TEID: choose}", "0015 0001 05"},
		{"{Local F-TEID: {ch: true, v4: true, v6: true, chid: 5}}", "0015 0002 0f05"},
		{"{F-TEID: {teid: 0x101, ipv4: 10.3.0.1}}", "0015 0009 01 00000101 0a030001"},
		{"{UE IP Address: {destination: true, ipv4: 10.45.0.2}}", "005d 0005 06 0a2d0002"},
		{"{UE IP Address: [10.45.0.2, choose6]}", "005d 0005 02 0a2d0002 005d 0001 20"},
		{"{Outer Header Creation: {teid: 1, ipv4: 10.3.0.2}}", "0054 000a 0100 00000001 0a030002"},
		{"{Outer Header Removal: GTP-U/UDP/IP}", "005f 0001 06"},
		{"{Outer Header Removal: {description: GTP-U/UDP/IPv4, extensions: 1}}", "005f 0002 0001"},
		{"{Apply Action: BUFF NOCP}", "002c 0002 0c00"},
		{"{Apply Action: 'hex: 0c'}", "002c 0001 0c"},
		{"{URR ID: null}", "0051 0000"},
		{"{IE 999: 'hex: 01 02'}", "03e7 0002 0102"},
		{"{Node ID: upf.example}", "003c 000d 02 03757066 07 6578616d706c65"},
		{"{Volume Threshold: 5}", "001f 0009 01 0000000000000005"},
		{"{DL Buffering Duration: 1m}", "002f 0001 1e"},
		{"{Cause: Request accepted}", "0013 0001 01"},
		{"{Offending IE: F-TEID}", "0028 0002 0015"},
		{"{Failed Rule ID: {type: QER, id: 7}}", "0072 0005 02 00000007"},
		{"{FQ-CSID: {node_type: PGW-C/SMF, node: {addr: 10.4.0.2}, csids: [1, 2]}}", "0041 000a 02 0a040002 0001 0002 02"},
		{"{Network Instance: internet}", "0016 0009 08 696e7465726e6574"},
		{"[{PDR ID: 1}, {FAR ID: 2}, {PDR ID: 3}]", "0038 0002 0001 006c 0004 00000002 0038 0002 0003"},
		{"{Remove PDR: [{PDR ID: 1}, {PDR ID: 2}]}", "000f 0006 0038 0002 0001 000f 0006 0038 0002 0002"},
	} {
		step, err := ParseStep("establish: " + tc.in)
		if err != nil {
			t.Fatalf("%s: %v", tc.in, err)
		}
		nodes, err := build(pfcp.MsgSessionEstablishmentRequest, step.With)
		if err != nil {
			t.Errorf("%s: %v", tc.in, err)
			continue
		}
		got, err := AppendNodes(nil, nodes)
		want := octetsOf(t, tc.want)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s\n got %x, %v\nwant %x", tc.in, got, err, want)
		}
	}
}

func octetsOf(t *testing.T, digits string) []byte {
	t.Helper()
	b, err := octets("0x" + strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUsageReportNames: the short name of a group that is written in several
// ways means that of the message.
func TestUsageReportNames(t *testing.T) {
	for message, want := range map[pfcp.MessageType]pfcp.IEType{
		pfcp.MsgSessionReportRequest: pfcp.IEUsageReportReport, pfcp.MsgSessionDeletionResponse: pfcp.IEUsageReportDeletion,
		pfcp.MsgSessionModificationResponse: pfcp.IEUsageReportModification,
	} {
		if got, err := typeIn("Usage Report", message); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", message, got, err, want)
		}
	}
}

// TestParseErrors: what is no scenario is refused when it is read.
func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		"steps: [{associate: {}, release: {}}]", "steps: [{fly: {}}]", "steps: [{within: soon, report: {}}]", "steps: [{}]",
	} {
		if _, err := Parse([]byte(text)); err == nil || strings.Contains(text, "fly") && !errors.Is(err, ErrForm) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"steps: !!seq [x]":                        "a tag",
		"rules: [&a [x], &b [*a]]":                "an alias within an anchor",
		"steps: " + strings.Repeat("[", 1<<19):    "nested too deep",
		"rules: &a x" + strings.Repeat("\n", 2e6): "octets",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
		if _, err := ParseStep(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a step, %.40q: got %v, want %q", text, err, want)
		}
	}
	if _, err := Parse([]byte("steps: {}\nstep: 1")); err == nil {
		t.Error("an unknown key passes")
	}
}

// FuzzParseNodes: what was taken apart is the same after it was put together and
// taken apart again, and can be shown.
func FuzzParseNodes(f *testing.F) {
	for _, v := range append(pfcptest.Good(f), pfcptest.Bad(f)...) {
		if _, body, _, err := pfcp.Parse(v.Octets); err == nil {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		nodes := ParseNodes(b)
		out, err := AppendNodes(nil, nodes)
		if err != nil {
			return // Apply Action grows by an octet, so a group may grow too long
		}
		if first, again := Text(nodes), Text(ParseNodes(out)); first != again {
			t.Errorf("%s\nbecame\n%s", first, again)
		}
		if _, err := json.Marshal(Message{IEs: nodes}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseStep: a step that was read can be built, or says why not.
func FuzzParseStep(f *testing.F) {
	for _, text := range []string{
		"associate", "establish: {Create PDR: {PDR ID: 1}}", "modify: {Update FAR: [{FAR ID: 1}, {FAR ID: 2}]}",
		"uplink: {teid: 1, from: 10.0.0.1, to: 10.0.0.2, count: 3}", "establish: {F-TEID: {ch: true}, IE 9: 'hex: 00'}", "raw: 00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		step, err := ParseStep(text)
		if err != nil {
			return
		}
		if with, err := expand(step.With, nil); err == nil {
			nodes, err := build(messages[step.Verb], with)
			if _, appendErr := AppendNodes(nil, nodes); err == nil && appendErr != nil && !errors.Is(appendErr, pfcp.ErrTooLong) {
				t.Error(appendErr)
			}
			_, _ = newPacket(with)
		}
	})
}
