package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/cli"
)

// TestUnits: what a start cannot mend is not tried again, which systemd goes by the exit code of
// the main process for, and no preparation that a UPF can do without keeps it from starting.
func TestUnits(t *testing.T) {
	files, err := filepath.Glob("../../deploy/plumb-*.service")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v: want the units of plumb upf, plumb n4 and plumb datapath", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prevented := ""
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "RestartPreventExitStatus":
				prevented = value
			case "ExecStart":
				if !strings.Contains(value, "/plumb ") {
					t.Errorf("%s: %s: want plumb as the main process", file, line)
				}
			case "ExecStartPre":
				if strings.Contains(value, "plumb ") || strings.Contains(value, "check-config") || !strings.HasPrefix(value, "-") {
					t.Errorf("%s: %s: want no check, and \"-\"", file, line)
				}
			}
		}
		if want := strconv.Itoa(cli.ExitUsage) + " " + strconv.Itoa(cli.ExitUnsupported); prevented != want {
			t.Errorf("%s: RestartPreventExitStatus=%s, want %s", file, prevented, want)
		}
	}
}
