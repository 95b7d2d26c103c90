package system

import (
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// TestSentFrames sends frames of which some are longer than what the other end of the
// link takes, and wants these told apart from what is lost behind it: with live frames,
// whose device says so.
func TestSentFrames(t *testing.T) {
	s := newSystem(t, Config{Name: "bed", Bed: BedXDP, MTU: 1600})
	establish(t, s, 1, Rules{})
	p, err := traffic.Simple("imix", generator.Same, generator.Uplink)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(p, NewRun()); err != nil {
		t.Fatal(err)
	}
	whole := send(t, s, At(12_000, 200*time.Millisecond))[0]
	if whole.SentFrames != whole.OfferedFrames || whole.ReceivedFrames != whole.OfferedFrames {
		t.Errorf("got %d sent of %d, %d received, want all", whole.SentFrames, whole.OfferedFrames, whole.ReceivedFrames)
	}
	end := s.Topology().N3.UPF
	err = end.Namespace.Do(func() error {
		device, err := netlink.LinkByName(end.Device)
		if err != nil {
			return err
		}
		return netlink.LinkSetMTU(device, 1280)
	})
	if err != nil {
		t.Fatal(err)
	}
	cut := send(t, s, At(12_000, 200*time.Millisecond))[0]
	long := cut.OfferedFrames / uint64(len(traffic.IMIX)) // one of twelve
	// A veth refuses what comes behind such a frame in the same batch as well.
	if refused := cut.OfferedFrames - cut.SentFrames; refused < long || cut.ReceivedFrames != cut.SentFrames || cut.SentFrames == 0 {
		t.Errorf("got %d sent of %d, %d received, want all but %d at least", cut.SentFrames, cut.OfferedFrames, cut.ReceivedFrames, long)
	}
}
