package system

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestOwnLinkFails has what belongs to the laboratory fail in the middle of a trial, and
// wants that to be the error, and no loss of the UPF's.
func TestOwnLinkFails(t *testing.T) {
	for _, tc := range []struct {
		name string
		fail func(*testing.T, *topology.Topology)
		want error
		text string
	}{
		{"meter's device set down", ip("dn", "link set n6 down"), topology.ErrLink, "n6 of"},
		{"meter's device removed", ip("dn", "link del n6"), topology.ErrLink, "n6 of"},
		{"meter's device set down for a moment", ip("dn", "link set n6 down", "link set n6 up"), topology.ErrLink, "n6 of"},
		{"sender's device set down for a moment", ip("gnb", "link set n3 down", "link set n3 up"), topology.ErrLink, "n3 of"},
		{"carrier lost for a moment", ip("upf", "link set n6 down", "link set n6 up"), topology.ErrLink, "lost its carrier"},
		{"meter taken off", detachMeter, meter.ErrDetached, "n6 of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSystem(t, Config{Name: "bed", Bed: BedXDP})
			establish(t, s, 2, Rules{})
			open(t, s, generator.Uplink)
			assertOwnFault(t, failing(t, s, tc.fail), tc.want, tc.text)
		})
	}
	t.Run("beside a UPF", func(t *testing.T) {
		s := newSystem(t, Config{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil)})
		establish(t, s, 2, Rules{})
		open(t, s, generator.Uplink)
		assertOwnFault(t, failing(t, s, ip("dn", "link set n6 down", "link set n6 up")), topology.ErrLink, "n6 of")
	})
}

// TestOwnLinkFailsExternal: the same beside a UPF that was there before, over devices that were
// as well.
func TestOwnLinkFailsExternal(t *testing.T) {
	bed, far := startFar(t, topology.Config{Name: "plt-system-far", Together: true, MTU: 1600})
	s := newExternal(t, bed, topology.External{
		N3: "n3", N6: "n6", N3UPF: far.Place.N4UPF, N6UPF: bed.N6.UPF.Address.Addr(), N4UPF: far.Place.N4UPF, UEPools: bed.Config.UEPools,
	})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	establish(t, s, 2, Rules{})
	open(t, s, generator.Uplink)
	fail := func(t *testing.T, _ *topology.Topology) { ip("gnb", "link set n6 down", "link set n6 up")(t, bed) }
	assertOwnFault(t, failing(t, s, fail), topology.ErrLink, "n6")
}

func assertOwnFault(t *testing.T, err, want error, text string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %v with %q", err, want, text)
	}
}

// failing makes a trial in a turn of the system, in which something fails once frames are
// being sent.
func failing(t *testing.T, s *System, fail func(*testing.T, *topology.Topology)) error {
	t.Helper()
	if err := s.Park(); err != nil {
		t.Fatal(err)
	}
	return s.Turn(t.Context(), func(ctx context.Context) error {
		load := At(1000, time.Second)
		failed := make(chan struct{})
		var once sync.Once
		load.OnSample = func(Sample) {
			once.Do(func() {
				go func() {
					fail(t, s.Topology())
					close(failed)
				}()
			})
		}
		_, err := s.Trial(ctx, load)
		once.Do(func() { close(failed) }) // it has not begun
		<-failed
		return err
	})
}

// ip runs commands of iproute2 in one of the namespaces.
func ip(where string, commands ...string) func(*testing.T, *topology.Topology) {
	return func(t *testing.T, bed *topology.Topology) {
		ns := map[string]*topology.Namespace{"gnb": bed.GNB, "upf": bed.UPF, "dn": bed.DN}[where]
		for _, c := range commands {
			if out, err := exec.Command("ip", append([]string{"-n", ns.Name}, strings.Fields(c)...)...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v: %s", c, err, out)
			}
		}
	}
}

// detachMeter does what `bpftool link detach` does.
func detachMeter(t *testing.T, bed *topology.Topology) {
	program, err := bed.N6.Peer.XDPProgram()
	if err != nil {
		t.Error(err)
	}
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err == nil && info.Program == program {
			if err := it.Link.Detach(); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("no link of program %d: %v", program, it.Err())
}
