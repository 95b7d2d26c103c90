package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestLabExternal has the command measure a UPF that it did not start, over two devices
// of the namespace that it runs in.
func TestLabExternal(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-lab-external", Together: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	kind, place := dut.Plumbline(upf.DatapathXDP, nil), dut.At(bed)
	if kind.Path, err = exec.LookPath("plumb"); err != nil {
		t.Fatal(err)
	}
	place.N4UPF = bed.N3.UPF.Address.Addr()
	far, err := dut.Start(t.Context(), kind, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := far.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, sender := range []string{"live", "packet"} {
		file := filepath.Join(t.TempDir(), "r.json")
		cmd := exec.Command(kind.Path, "lab", "loss", "--dut", "external", "--external", "n3=n3@10.3.0.1,n6=n6@10.6.0.1,n4=10.3.0.1,ue=10.64.0.0/10",
			"--sender", sender, "--sessions", "10", "--frames", "128", "--direction", "uplink", "--duration", "100ms", "--repeat", "1", "--json", file)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := bed.GNB.Do(cmd.Run); err != nil {
			t.Fatalf("%s: %v\n%s", sender, err, &out)
		}
		lab, err := report.ReadLabFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(lab.Systems) != 1 || len(lab.Turns) != 1 || lab.Turns[0].Failed != "" || len(lab.Turns[0].Trials) < 2 {
			t.Fatalf("%s: got %+v, want one turn of one system\n%s", sender, lab, &out)
		}
		for _, trial := range lab.Turns[0].Trials {
			if trial.ReceivedFrames == 0 || trial.Misdelivered > 0 {
				t.Errorf("%s: %d of %d frames arrived, %d misdelivered", sender, trial.ReceivedFrames, trial.OfferedFrames, trial.Misdelivered)
			}
		}
	}
}
