package slices

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
	unmodified "github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/probe"
)

// TestDroppedAt: what a veth drops, since its other end takes no frames of that length, is
// counted at the point where it would have come in, and at no other.
func TestDroppedAt(t *testing.T) {
	ns := unmodified.NewNamespace(t, "slices-dropped")
	for _, args := range []string{
		"link add near type veth peer name far", "link set far mtu 1000 up", "link set near up", "addr add 192.0.2.1/24 dev near",
		"neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev near",
	} {
		if out, err := exec.Command("ip", append([]string{"-n", ns}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", args, err, out)
		}
	}
	path := "/run/netns/" + ns
	at := func(device string, h probe.Hook, w probe.Way) probe.Point {
		return probe.Point{Namespace: path, Device: device, Hook: h, Way: w}
	}
	in := at("near", probe.Egress, probe.In)
	points := []probe.Point{in, at("near", probe.Ingress, probe.Out), at("far", probe.Ingress, probe.In), at("far", probe.Egress, probe.Out)}
	before, err := droppedAt(points)
	if err != nil {
		t.Fatal(err)
	}
	const frames = 5
	err = nsenter.In(path, func() error {
		conn, err := net.Dial("udp", "192.0.2.2:9")
		if err != nil {
			return err
		}
		defer conn.Close()
		for range frames {
			if _, err := conn.Write(make([]byte, 1200)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := droppedAt(points)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[probe.Point]uint64{in: before[in] + frames}, after); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := droppedAt([]probe.Point{at("none", probe.Egress, probe.In)}); err == nil {
		t.Error("a device that is not there has counters")
	}
}
