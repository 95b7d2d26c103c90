// Package find finds UPFs that run on this machine, of any make, and says where a
// probe must stand to see each packet come and go. It only looks: nothing is
// attached, started or changed.
//
//	sockets of PFCP and GTP-U, TUN files, BPF programs    /proc, in each namespace
//	          │ owned by
//	          ▼
//	       process ──► container, pod                     cgroup, state of the runtimes
//	          │
//	          ▼
//	       datapath ──► devices ──► points                netlink
//
// What takes packets decides where they can be seen:
//
//	datapath     points
//	tc           the devices themselves: before the UPF's program, and behind it
//	tun, tap     N3 devices, and the TUN or TAP device, where the ways are turned round:
//	             what it sends goes to the UPF
//	gtp          the same, with the device of the kernel's tunnels in place of the TUN
//	xdp, afxdp,  the other side of the devices, since nothing in the UPF's namespace sees
//	packet       what XDP takes: the other end of a veth, or what a MACVLAN or VLAN is on
//
// The package needs CAP_SYS_ADMIN (namespaces), CAP_SYS_PTRACE (files of processes) and
// CAP_NET_ADMIN; what it may not look at it does not find.
package find

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/probe"
)

// ErrNone is in the error of [Find] if there is no such UPF; the error says what there
// is.
var ErrNone = errors.New("no UPF found")

// Selector says which UPFs are meant. What is set must all hold; with nothing set but
// Devices, those are taken in the namespace of this process.
type Selector struct {
	// Auto: all UPFs that speak PFCP, or take GTP-U from the kernel by programs of
	// their own. What has GTP-U and a TUN device but no PFCP, or PFCP in another
	// namespace, may as well be a gNB, and is left to those who name it.
	Auto bool
	// PID of the UPF, or of any process in its network namespace; 0: any.
	PID int
	// Netns is the UPF's network namespace: a path, a name in /run/netns, or the inode
	// number.
	Netns string
	// Container by its name, its id or, where none has that name, all those whose id
	// begins so (4 digits or more), of Docker, Podman, containerd, CRI-O, Incus or LXC.
	Container string
	// Pod is "namespace/name" in Kubernetes, or the name alone.
	Pod string
	// Devices at which to stand, in place of those that the datapath shows: N3 and N6 of
	// a UPF that is not understood.
	Devices []Device

	// HostWide asks for tracepoints of the kernel (probe.HostIngress, probe.HostEgress)
	// in place of programs at the devices.
	HostWide bool
}

// Device is a network device as a user names it.
type Device struct {
	Name string
	Side probe.Side
}

// Datapath is how a UPF gets and sends packets.
type Datapath string

// Datapaths.
const (
	XDP     Datapath = "xdp"     // programs of XDP, which redirect
	AFXDP   Datapath = "afxdp"   // AF_XDP sockets
	TC      Datapath = "tc"      // programs at tcx or clsact
	TUN     Datapath = "tun"     // UDP sockets and TUN devices
	TAP     Datapath = "tap"     // UDP sockets and TAP devices
	GTP     Datapath = "gtp"     // tunnels of the kernel: gtp, or free5GC's gtp5g
	Packet  Datapath = "packet"  // AF_PACKET sockets
	DPDK    Datapath = "dpdk"    // devices that the kernel does not have
	Sockets Datapath = "sockets" // UDP sockets, and what is not known
	Given   Datapath = "given"   // devices that the user named
)

// Target is a UPF that was found.
type Target struct {
	Name    string // unique, short, and the same when the UPF is started again
	PID     int    // 0: only devices are known
	Command string // name of the program, as the kernel has it

	// Containers in which it runs, outermost first; none: on the host itself.
	Containers []Container

	Namespace string // path of its network namespace; empty: that of this process
	Inode     uint64 // of the namespace

	Datapath Datapath
	Why      string // what shows it

	// N3 and N4 are the addresses of its GTP-U and PFCP sockets; empty: any address of
	// the namespace, or not known. A UPF of XDP need not have a socket for GTP-U.
	N3, N4 []netip.Addr
	// N4At are the devices by which PFCP comes. On a loopback device a message is seen
	// twice: sent and received.
	N4At []Place

	// Points to stand at, with Point.UPF as the index in the result of [Find]; see
	// [Target.At].
	Points []probe.Point
	// Missing says why there are no points, or not all of them.
	Missing string

	born    uint64 // start time of the process, in clock ticks
	label   string // name of the namespace; empty: it has none
	spots   []spot // of Points, one each
	n4Spots []spot // of N4At
}

// Place is a network device.
type Place struct {
	Namespace string // path; empty: that of this process
	Device    string
}

// UPF returns what a probe must know of the target.
func (t *Target) UPF() probe.UPF { return probe.UPF{Name: t.Name, N3: t.N3} }

// At returns the points of the target as those of the UPF with that index in
// probe.Config.UPFs.
func (t *Target) At(upf int) []probe.Point {
	points := slices.Clone(t.Points)
	for i := range points {
		points[i].UPF = upf
	}
	return points
}

// Find looks for the UPFs that s means. A UPF that cannot be measured is among them, and
// says why in Missing.
//
// Errors: [ErrNone].
func Find(ctx context.Context, s Selector) ([]Target, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	m, err := look(ctx, newRuntimes(ctx, hostRoot()))
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	defer m.close()
	targets, err := m.find(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	christen(targets, nil)
	for i := range targets {
		targets[i].Points = targets[i].At(i)
	}
	return targets, nil
}

// check refuses what means nothing.
func (s *Selector) check() error {
	given := s.PID != 0 || s.Netns != "" || s.Container != "" || s.Pod != "" || len(s.Devices) > 0
	switch {
	case s.Auto && given:
		return errors.New("all UPFs are asked for, and one of them: want one or the other")
	case !s.Auto && !given:
		return errors.New("no UPF is named")
	case s.PID < 0:
		return fmt.Errorf("process %d: want a positive number", s.PID)
	}
	return nil
}
