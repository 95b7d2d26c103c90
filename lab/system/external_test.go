package system

import (
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestExternal measures a UPF that was there before, over devices that were as well,
// both ways at once and with churn, and wants it to be left without sessions.
func TestExternal(t *testing.T) {
	for _, tc := range []struct {
		name   string
		bed    topology.Config
		n3, n6 string
	}{
		{"two devices", topology.Config{Name: "plt-system-far", Together: true, MTU: 1600}, "n3", "n6"},
		{"one device", topology.Config{Name: "plt-system-far", OnAStick: true, MTU: 1600}, "n3", "n3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bed, far := startFar(t, tc.bed)
			s := newExternal(t, bed, topology.External{
				N3: tc.n3, N6: tc.n6, N3UPF: far.Place.N4UPF, N6UPF: bed.N6.UPF.Address.Addr(), N4UPF: far.Place.N4UPF,
				UEPools: bed.Config.UEPools,
			})
			establish(t, s, 20, Rules{})
			open(t, s, generator.Uplink, generator.Downlink)
			load := At(2000, 500*time.Millisecond)
			load.Churn = Churn{Establish: 50, Modify: 50, Delete: 50}
			for _, trial := range send(t, s, load) {
				if trial.ReceivedFrames != trial.OfferedFrames || trial.Churn == nil || trial.Churn.Total.Accepted < 30 {
					t.Errorf("%s: %d of %d frames arrived, churn %+v", trial.Direction, trial.ReceivedFrames, trial.OfferedFrames, trial.Churn)
				}
				assertClean(t, &trial)
			}
			assertReleased(t, s, bed, far)
		})
	}
}

// TestPools wants UEs to be refused that no pool has addresses for.
func TestPools(t *testing.T) {
	s := &System{config: Config{Kind: dut.Plumbline(upf.DatapathXDP, nil)}, topology: &topology.Topology{}}
	s.topology.Config.UEPools = []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10")}
	s.topology.N3.UPF.Address, s.topology.N3.Peer.Address = netip.MustParsePrefix("10.3.0.1/24"), netip.MustParsePrefix("10.3.0.2/24")
	if _, err := s.template(Rules{}); err != nil {
		t.Error(err)
	}
	if _, err := s.template(Rules{IPv6: true}); err == nil {
		t.Error("IPv6: accepted, want an error")
	}
	s.topology.Config.UEPools[0] = netip.MustParsePrefix("10.64.0.0/24")
	if err := s.room(255); err != nil {
		t.Error(err)
	}
	if err := s.room(256); err == nil {
		t.Error("256 sessions of a /24: accepted, want an error")
	}
}

// startFar starts a UPF in a bed, with N4 at its address on N3.
func startFar(t *testing.T, c topology.Config) (*topology.Topology, *dut.Instance) {
	t.Helper()
	bed, err := topology.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	place, kind := dut.At(bed), dut.Plumbline(upf.DatapathXDP, nil)
	kind.Path, place.N4UPF = plumb, bed.N3.UPF.Address.Addr()
	far, err := dut.Start(t.Context(), kind, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := far.Stop(); err != nil {
			t.Error(err)
		}
	})
	return bed, far
}

// newExternal makes the system from where gNB and data network are.
func newExternal(t *testing.T, bed *topology.Topology, e topology.External) (s *System) {
	t.Helper()
	kinds, err := dut.Select([]string{"external"})
	if err != nil {
		t.Fatal(err)
	}
	err = bed.GNB.Do(func() (err error) {
		s, err = New(t.Context(), Config{Name: "external", Kind: kinds[0], External: &e})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// assertReleased closes the system and wants its sessions and programs to be gone.
func assertReleased(t *testing.T, s *System, bed *topology.Topology, far *dut.Instance) {
	t.Helper()
	one := s.Sessions()[0].RemoteSEID
	if _, err := far.Session(t.Context(), one); err != nil {
		t.Errorf("session of the trial: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, port := range []topology.Port{bed.N3.Peer, bed.N6.Peer} {
		if id, err := port.XDPProgram(); id != 0 || err != nil {
			t.Errorf("%s: program %d is still there, %v", port.Device, id, err)
		}
	}
	if _, err := far.Session(t.Context(), one); err == nil {
		t.Errorf("session %#x is still there after Close", one)
	}
}
