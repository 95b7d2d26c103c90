package system

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/lab/traffic"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestTimeStamps has the kernel stamp frames, both ways at once, and wants each to have
// two stamps: they leave and arrive between the moments that the programs read.
func TestTimeStamps(t *testing.T) {
	for _, c := range []Config{
		{Name: "bed", Bed: BedXDP},
		{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil)},
		{Name: "tun", Kind: dut.Plumbline(upf.DatapathTUN, nil), Offload: true},
	} {
		t.Run(c.Name, func(t *testing.T) {
			c.TimeStamps, c.Skbs, c.Sender = timestamp.Software, true, generator.Packet
			s := newSystem(t, c)
			establish(t, s, 10, Rules{})
			for _, frames := range []string{"128", "64"} { // with a whole stamp of ours, and with a short one
				openFrames(t, s, frames)
				assertStamped(t, s)
			}
		})
	}
}

// TestTimeStampsOfExternal does it over devices that were there before.
func TestTimeStampsOfExternal(t *testing.T) {
	bed, far := startFar(t, topology.Config{Name: "plt-system-stamps", Together: true, MTU: 1600})
	s := newExternal(t, bed, topology.External{
		N3: "n3", N6: "n6", N3UPF: far.Place.N4UPF, N6UPF: bed.N6.UPF.Address.Addr(), N4UPF: far.Place.N4UPF, UEPools: bed.Config.UEPools,
	})
	s.config.TimeStamps, s.config.Skbs, s.config.Sender = timestamp.Software, true, generator.Packet
	if err := s.stampDevices(); err != nil {
		t.Fatal(err)
	}
	establish(t, s, 5, Rules{})
	openFrames(t, s, "128")
	assertStamped(t, s)
	assertReleased(t, s, bed, far)
}

func openFrames(t *testing.T, s *System, frames string) {
	t.Helper()
	p, err := traffic.Simple(frames, generator.Uniform, generator.Uplink, generator.Downlink)
	if err == nil {
		err = s.Open(p, NewRun())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// assertStamped wants all frames to be stamped when they leave, and all that arrive when
// they do. The kernel begins to stamp arriving frames some time after it was
// asked to: a trial that was too early is made again.
func assertStamped(t *testing.T, s *System) {
	t.Helper()
	load := At(2000, 300*time.Millisecond)
	load.TimeStamps = true
	const tries = 5
	for try := 1; ; try++ {
		trials := send(t, s, load)
		early := false
		for i := range trials {
			early = early || trials[i].Stamped != nil && trials[i].Stamped.ReceivedFrames < trials[i].ReceivedFrames
		}
		if early && try < tries {
			continue
		}
		for i := range trials {
			assertStamps(t, &trials[i])
		}
		return
	}
}

func assertStamps(t *testing.T, trial *report.Trial) {
	t.Helper()
	assertClean(t, trial)
	x := trial.Stamped
	if x == nil {
		t.Fatalf("%s: no time stamps", trial.Direction)
	}
	if x.By != "software" || x.AskedFrames != trial.OfferedFrames || x.SentFrames != x.AskedFrames || x.ReceivedFrames != trial.ReceivedFrames ||
		x.Frames+x.BackwardFrames != trial.ReceivedFrames {
		t.Errorf("%s: %+v of %d frames offered, %d received", trial.Direction, x, trial.OfferedFrames, trial.ReceivedFrames)
	}
	if l := x.LatencyNS; l.Min <= 0 || l.Mean >= trial.LatencyNS.Mean || l.Min >= trial.LatencyNS.Min {
		t.Errorf("%s: from driver to driver %+v; from when frames were due %+v: want less, and more than nothing", trial.Direction, l, trial.LatencyNS)
	}
}
