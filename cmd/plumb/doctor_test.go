package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	upfcmd "github.com/plumbline-upf/plumbline/internal/cli/upf"
	"github.com/plumbline-upf/plumbline/internal/doctor"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestDoctorBesideUPF: where the UPF of a configuration runs it can run. Where another one
// has the devices it cannot, with XDP.
func TestDoctorBesideUPF(t *testing.T) {
	b := newTrafficBed(t, "plt-doctor")
	config := b.upfConfig()
	config.Datapath = upf.DatapathXDP
	config.Sessions.Max = 1000
	file := b.file("upf.yaml", config)
	b.plumb("", "upf", "--config", file).wait("msg=up ")

	report, err := b.doctor(file)
	if err != nil {
		t.Errorf("the UPF that runs: %v", err)
	}
	if want := "the UPF runs here already, with datapath xdp"; report.Running != upf.DatapathXDP || report.Summary() != want {
		t.Errorf("the UPF that runs: got %q, %q, want %q", report.Running, report.Summary(), want)
	}
	if xdp := rowOf(report, upf.DatapathXDP); !xdp.Runs || !strings.HasPrefix(xdp.Found, "the UPF runs with it; ") {
		t.Errorf("the UPF that runs: got %+v", xdp)
	}

	config.API.Socket = filepath.Join(b.dir, "other.sock")
	report, err = b.doctor(b.file("other.yaml", config))
	if !errors.Is(err, errors.ErrUnsupported) || report.Running != "" {
		t.Errorf("another UPF: got %v, running %q", err, report.Running)
	}
	for _, name := range []string{upf.DatapathXDP, upf.DatapathAFXDP} {
		d := rowOf(report, name)
		if d.Runs || !strings.HasPrefix(d.Found, "a plumb upf has n3 (program ") || !strings.Contains(d.Advice, "stop it first") {
			t.Errorf("another UPF: got %+v", d)
		}
	}
}

// TestDoctorTUN: about a UPF on tun there are rows of its devices, and none of XDP or of other
// commands.
func TestDoctorTUN(t *testing.T) {
	b := newTrafficBed(t, "plt-doctortun")
	config := b.upfConfig()
	config.Datapath = upf.DatapathTUN
	report, err := b.doctor(b.file("upf.yaml", config))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) { // a host that does not forward
		t.Fatal(err)
	}
	var devices []string
	for _, c := range report.Checks {
		switch c.Area {
		case doctor.AreaDevice:
			devices = append(devices, c.Name)
			if c.Status != doctor.OK || strings.Contains(c.Found, "XDP") {
				t.Errorf("%s: %s, %q", c.Name, c.Status, c.Found)
			}
		case doctor.AreaEBPF, doctor.AreaPrograms, doctor.AreaTool:
			t.Errorf("%s %s: %q", c.Area, c.Name, c.Found)
		}
	}
	if slices.Sort(devices); !slices.Equal(devices, config.Devices()) {
		t.Errorf("devices %v, want %v", devices, config.Devices())
	}
}

// doctor is `plumb doctor --json` in the UPF's namespace.
func (b *trafficBed) doctor(file string) (report *doctor.Report, failed error) {
	b.t.Helper()
	var out bytes.Buffer
	report = &doctor.Report{}
	err := b.UPF.Do(func() error {
		failed = (&upfcmd.Doctor{JSON: true, Config: file}).Run(b.t.Context(), &out)
		return nil
	})
	if err == nil {
		err = json.Unmarshal(out.Bytes(), report)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return report, failed
}

func rowOf(r *doctor.Report, name string) doctor.Datapath {
	for _, d := range r.Datapaths {
		if d.Name == name {
			return d
		}
	}
	return doctor.Datapath{}
}
