package afxdp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// bed is the bed of package conformance with real devices: veth pairs between the
// UPF's network namespace and another one, from where frames are sent and where all
// that comes is caught.
type bed struct {
	*Driver
	upf     netns.NsHandle
	kernel  *netlink.Handle // of the UPF's namespace
	catcher int             // packet socket of the other namespace
	devices map[string]ends
	stick   bool // N3 and N6 on one device
	clock   atomic.Uint64
	begun   time.Time
	sent    [][]byte
	caught  uint64
	asked   uint64 // ARP requests that were answered: the answers stay with the kernel
	before  uint64 // frames that the UPF's devices have sent

	front func(cfg Config) (over, error) // opens a datapath around the driver; nil: it is the driver itself
	over  over                           // that one; nil: there is none
}

// over is a datapath around a driver.
type over interface {
	datapath.Movable
	// Under is the driver.
	Under() *Driver
}

// inNamespace runs f on a thread of its own in a namespace.
func inNamespace(t testing.TB, ns netns.NsHandle, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := netns.Set(ns)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	check(t, <-done)
}

// newNamespace makes one without a name, which goes when nobody uses it any more.
func newNamespace(t testing.TB) netns.NsHandle {
	t.Helper()
	made := make(chan netns.NsHandle)
	go func() {
		runtime.LockOSThread()
		h, err := netns.New()
		if err != nil {
			h = netns.None()
		}
		for name, value := range map[string]string{"addr_gen_mode": "1", "router_solicitations": "0"} { // a quiet one
			_ = os.WriteFile("/proc/sys/net/ipv6/conf/default/"+name, []byte(value), 0o644)
		}
		made <- h
	}()
	h := <-made
	if !h.IsOpen() {
		t.Fatal("no network namespace")
	}
	t.Cleanup(func() { check(t, h.Close()) })
	return h
}

// openBed makes the bed; the driver is opened by [bed.open].
func openBed(t testing.TB, stick bool) *bed {
	t.Helper()
	b := &bed{devices: map[string]ends{}, stick: stick, upf: newNamespace(t), begun: time.Now()}
	other := newNamespace(t)
	var err error
	b.kernel, err = netlink.NewHandleAt(b.upf)
	check(t, err)
	t.Cleanup(b.kernel.Close)
	far, err := netlink.NewHandleAt(other)
	check(t, err)
	t.Cleanup(far.Close)
	for _, l := range bedLinks(stick) {
		b.link(t, far, other, l)
	}
	inNamespace(t, other, func() (err error) {
		b.catcher, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(htons(unix.ETH_P_ALL)))
		return errors.Join(err,
			unix.SetsockoptInt(b.catcher, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
			unix.SetsockoptInt(b.catcher, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
			unix.SetsockoptInt(b.catcher, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	})
	t.Cleanup(func() { check(t, unix.Close(b.catcher)) })
	b.before = b.transmitted(t)
	return b
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

// open opens a driver on the bed.
func (b *bed) open(t testing.TB) {
	t.Helper()
	before, beforeOver := b.Driver, b.over
	if before != nil {
		check(t, before.Pause())
	}
	cfg := Config{
		Endpoints: conformance.Endpoints, MaxSessions: conformance.MaxSessions, Advertise: &conformance.Advertise,
		ChoosePort: func(int) int { return 0 }, secret: conformance.Secret, Mode: Interrupt,
		now: func() uint64 { return b.clock.Load() + uint64(time.Since(b.begun)) },
	}
	cfg.N6.Policies = conformance.DataNetworks.Policies
	for _, n := range conformance.DataNetworks.Networks {
		if !n.Ethernet {
			n.Gateways = []netip.Addr{conformance.Gateway, conformance.Gateway6}
		}
		if n.Device == "n6" && b.stick {
			n.Device = "n3"
		}
		cfg.N6.Networks = append(cfg.N6.Networks, n)
	}
	inNamespace(t, b.upf, func() (err error) {
		if b.front == nil {
			b.Driver, err = New(cfg)
			return err
		}
		if b.over, err = b.front(cfg); err == nil {
			b.Driver = b.over.Under()
		}
		return err
	})
	d, around := b.Driver, b.over
	b.inOrder()
	t.Cleanup(func() {
		if around != nil {
			check(t, around.Close())
		} else {
			check(t, d.Close())
		}
		b.over = beforeOver
		if b.Driver = before; before != nil {
			inNamespace(t, b.upf, before.Resume)
			b.inOrder()
		}
	})
}

// Apply implements [datapath.Driver].
func (b *bed) Apply(ctx context.Context, c *api.Change) error {
	if b.over != nil {
		return b.over.Apply(ctx, c)
	}
	return b.Driver.Apply(ctx, c)
}

// Usage implements [datapath.Driver].
func (b *bed) Usage(seid uint64) (*api.SessionUsage, error) {
	if b.over != nil {
		return b.over.Usage(seid)
	}
	return b.Driver.Usage(seid)
}

// Drops implements [datapath.Driver].
func (b *bed) Drops() (map[string]uint64, error) {
	if b.over != nil {
		return b.over.Drops()
	}
	return b.Driver.Drops()
}

// inOrder lets packets leave one at a time, in their order also over several devices.
func (b *bed) inOrder() {
	for _, w := range b.machine.Load().workers {
		w.send = func(out []*vector.Packet) {
			for _, p := range out {
				w.leave([]*vector.Packet{p})
			}
		}
	}
}

// Pass implements [conformance.Shared].
func (b *bed) Pass(d time.Duration) {
	b.clock.Add(uint64(d))
	left := b.Buffered().Packets
	for _, u := range b.TableUse() {
		left += u.Used
	}
	if left > 0 {
		time.Sleep(3 * tendRound) // the engine looks at its clock that often
	}
}

const tendRound = 50 * time.Millisecond

// EventWait implements random.Datapath: not used here.
func (b *bed) EventWait() time.Duration { return time.Second }

// Remains implements [conformance.Shared].
func (b *bed) Remains() (all []string) {
	left := func(what string, n int) {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	left("sessions", len(b.held))
	left("destinations", len(b.tables.keys.uses)-1) // but that of the NAT
	left("peers", len(b.peers.uses))
	o := b.Buffered()
	left("buffered packets, and sessions that have some", o.Packets+o.Sessions)
	for _, u := range b.TableUse() {
		left("of "+u.Name, u.Used)
	}
	for _, w := range b.machine.Load().workers {
		left("frames lost", b.lostFrames(w))
	}
	return all
}

// lostFrames returns how many frames are neither free nor the kernel's.
func (b *bed) lostFrames(w *worker) int { return w.umem.Census()[xsk.Held] }

var _ conformance.Shared = (*bed)(nil)
