package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestOutputsThatCannotBe: a file or directory that a flag names and that cannot be made is
// wrong usage, for each flag of each command, and is told before anything is measured.
func TestOutputsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	lab, file := filepath.Join(dir, "lab.json"), filepath.Join(dir, "file")
	f, err := os.Create(lab)
	if err == nil {
		err = report.WriteLab(f, report.CorrectnessLab([]*report.Correctness{{
			Schema: report.CorrectnessSchema, Started: time.Now().UTC().Truncate(time.Second), Host: host.Describe("v0", "", "plumb lab correctness"), System: "eUPF",
			Rates: []report.RateFigure{{Direction: report.Uplink, Protocol: "UDP", AskedBPS: 1e6, PassedBPS: 9e5, ErrorPercent: -10}},
		}}, time.Now().UTC()))
	}
	if err == nil {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	never := filepath.Join(file, "nosuch") // file is no directory
	more := map[string][]string{           // what a command wants beside
		"plumb doctor": {"--programs"}, "plumb bench": {"--datapath", "xdp,tun"}, "plumb lab report": {lab}, "plumb lab compare": {lab, lab}, "plumb lab n4": {"127.83.7.1"},
		"plumb lab interop": {"--ue", "lo", "--dn", "127.0.0.1"}, "plumb nfapi conformance": {"--pnf", ":0"}, "plumb probe run": {"--auto", "--duration", "1s"},
		"plumb nfapi mono run": {"--config", "../../deploy/nfapi/mono.yaml"}, "plumb nfapi pnf run": {"--config", "../../deploy/nfapi/pnf.yaml"},
		"plumb nfapi vnf run": {"--config", "../../deploy/nfapi/vnf.yaml"}, "plumb nfapi analyze": {file}, "plumb trace": {"--all"}, "plumb probe report": {file},
	}
	inputs := []string{"config", "resume", "slices", "p4info", "tls-cert", "tls-key", "tls-client-ca"}
	parser, err := kong.New(&commands{}, kong.Name("plumb"))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, leaf := range parser.Model.Leaves(true) {
		if leaf.Name == "check-config" { // which has the flags of the command that it is below, and makes nothing
			continue
		}
		for _, flag := range slices.Concat(leaf.AllFlags(false)...) {
			if flag.PlaceHolder != "FILE" && flag.PlaceHolder != "DIR" || slices.Contains(inputs, flag.Name) {
				continue
			}
			command := leaf.FullPath()
			tried++
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			args := slices.Concat(strings.Fields(command)[1:], more[command], []string{"--" + flag.Name, never})
			cmd := exec.CommandContext(ctx, "plumb", args...)
			out, err := cmd.CombinedOutput()
			cancel()
			if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage || !strings.Contains(string(out), file) {
				t.Errorf("%s --%s: %v, %.300s: want exit code %d, and the name", command, flag.Name, err, out, cli.ExitUsage)
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d flags tried, want all", tried)
	}
}
