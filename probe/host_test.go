package probe

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// wire sends frames through a device.
type wire struct {
	fd, index int
}

// newWire opens a device. Of frames of a sparse one only the Ethernet header is where
// pointers reach it.
func newWire(t *testing.T, p topology.Port, sparse bool) wire {
	t.Helper()
	w := wire{index: p.Index}
	err := p.Namespace.Do(func() (err error) {
		w.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err == nil && sparse {
			err = unix.SetsockoptInt(w.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(w.fd) })
	return w
}

func (w wire) send(t *testing.T, frame []byte, sparse bool) {
	t.Helper()
	if sparse {
		frame = append(make([]byte, 10), frame...) // struct virtio_net_hdr
	}
	if err := unix.Sendto(w.fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: w.index}); err != nil {
		t.Fatal(err)
	}
}

// TestAttachments has packets come in and leave through devices of another namespace, at
// tcx and at the host's tracepoints.
func TestAttachments(t *testing.T) {
	for _, hooks := range [][2]Hook{{Ingress, Egress}, {HostIngress, HostEgress}} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v and %v, sparse %v", hooks[0], hooks[1], sparse), func(t *testing.T) { testAttachments(t, hooks[0], hooks[1], sparse) })
		}
	}
}

func testAttachments(t *testing.T, ingress, egress Hook, sparse bool) {
	bed, err := topology.New(topology.Config{Name: "plt-probe"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	r := newRig(t, Config{})
	at := map[string]Point{}
	for name, p := range map[string]Point{
		"N3 in": {Way: In, Side: N3, Hook: ingress, Device: bed.N3.UPF.Device}, "N3 out": {Way: Out, Side: N3, Hook: egress, Device: bed.N3.UPF.Device},
		"N6 in": {Way: In, Side: N6, Hook: ingress, Device: bed.N6.UPF.Device}, "N6 out": {Way: Out, Side: N6, Hook: egress, Device: bed.N6.UPF.Device},
	} {
		p.Namespace = bed.UPF.Path()
		a, err := r.Attach(p)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		at[name] = a.Point
		if _, err := r.Attach(p); err == nil {
			t.Errorf("%s: attached to twice", name)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	gnb, dn := newWire(t, bed.N3.Peer, sparse), newWire(t, bed.N6.Peer, sparse)
	n3, n6 := newWire(t, bed.N3.UPF, sparse), newWire(t, bed.N6.UPF, sparse)
	const rounds = 50
	octets, packets := uint64(0), uint64(0)
	for i := range uint32(rounds) {
		for _, x := range [][2]netip.Addr{{ueAddr, hostAddr}, {ueAddr6, hostAdr6}} {
			for _, size := range []int{4, 100, 1300} {
				packets++
				octets += uint64(len(udp(x[0], x[1], numbered(i, size))))
				up, down := udp(x[0], x[1], numbered(i, size)), udp(x[1], x[0], numbered(i, size))
				gnb.send(t, onN3(In, gpdu(7, 9, up)), sparse)
				r.arrive(t, at["N3 in"], packets)
				n6.send(t, frame(up), sparse)
				dn.send(t, frame(down), sparse)
				r.arrive(t, at["N6 in"], packets)
				n3.send(t, onN3(Out, gpdu(8, 9, down)), sparse)
			}
		}
	}
	s := r.snapshot()
	for _, d := range []Direction{Uplink, Downlink} {
		if diff := cmp.Diff(Account{In: packets, Matched: packets, Octets: octets}, s.account("", d)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", d, diff)
		}
	}
	for name, p := range at {
		got := s.at(p)
		got.Foreign = 0 // what the namespace's own IPv6 says
		if diff := cmp.Diff(PointCount{Packets: packets}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// arrive waits until so many packets have come to a point: a device's softirq runs when
// it will.
func (r *rig) arrive(t *testing.T, at Point, packets uint64) {
	t.Helper()
	i := slices.IndexFunc(r.points, func(s *pointState) bool { return s.point == at })
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := r.readPoint(r.points[i])
		if err != nil {
			t.Fatal(err)
		}
		if c.Packets == packets {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v: got %+v, want %d packets", at, c.Foreign, packets)
		}
	}
}
