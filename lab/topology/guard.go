package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ErrLink says that a device or a link of the laboratory's own failed: what was measured
// meanwhile says nothing of the UPF.
var ErrLink = errors.New("the laboratory's own link failed")

// Guard watches the outer ends of N3 and N6, where frames are sent and metered: whether
// one is set down or removed, also for a moment. Its methods are for one goroutine.
type Guard struct {
	ports   []Port
	sockets []*nl.NetlinkSocket // one in each of the ports' namespaces
	wake    int                 // eventfd
}

// Guard begins to watch. The caller closes it.
//
// Errors: [ErrLink] if a device is down already.
func (t *Topology) Guard() (*Guard, error) {
	g := &Guard{ports: t.outer(), wake: -1}
	err := g.subscribe()
	for i := range g.ports {
		if err == nil {
			err = g.ports[i].up()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("topology: %w", errors.Join(err, g.Close()))
	}
	return g, nil
}

// outer are the devices that frames of the laboratory leave by and arrive at, each once.
func (t *Topology) outer() []Port {
	if t.GNB == t.DN && t.N3.Peer.Index == t.N6.Peer.Index {
		return []Port{t.N3.Peer}
	}
	return []Port{t.N3.Peer, t.N6.Peer}
}

func (g *Guard) subscribe() (err error) {
	if g.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	for i := range g.ports {
		err := g.ports[i].Namespace.Do(func() error {
			s, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
			if err == nil {
				g.sockets = append(g.sockets, s)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", &g.ports[i], err)
		}
	}
	return nil
}

// Close ends the watch.
func (g *Guard) Close() error {
	for _, s := range g.sockets {
		s.Close()
	}
	if g.wake < 0 {
		return nil
	}
	return unix.Close(g.wake)
}

// Wait returns once a device is set down or removed, with an [ErrLink] that says which;
// or, when ctx is done, nil if that has not happened before.
func (g *Guard) Wait(ctx context.Context) error {
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_, _ = unix.Write(g.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // it has room for more than one
	})
	defer func() {
		if !stop() { // it has begun: the number may be that of another file once this one is closed
			<-woken
		}
	}()
	fds := []unix.PollFd{{Fd: int32(g.wake), Events: unix.POLLIN}}
	for _, s := range g.sockets {
		fds = append(fds, unix.PollFd{Fd: int32(s.GetFd()), Events: unix.POLLIN})
	}
	for {
		wait := -1
		if ctx.Err() != nil {
			wait = 0 // what has been said so far counts
		}
		n, err := unix.Poll(fds, wait)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("topology: poll: %w", err)
		}
		if ctx.Err() != nil && (n == 0 || n == 1 && fds[0].Revents != 0) {
			return nil
		}
		for i := range g.sockets {
			if fds[1+i].Revents == 0 {
				continue
			}
			if err := g.read(i); err != nil {
				return fmt.Errorf("topology: %w", err)
			}
		}
	}
}

// read looks at what the kernel says about a port.
func (g *Guard) read(i int) error {
	p := &g.ports[i]
	messages, _, err := g.sockets[i].Receive()
	if errors.Is(err, unix.ENOBUFS) {
		return p.up() // more was said than there is room for
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", p, err)
	}
	for _, m := range messages {
		if len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		info := nl.DeserializeIfInfomsg(m.Data)
		switch {
		case int(info.Index) != p.Index || info.Family != unix.AF_UNSPEC: // a bridge's says that a port leaves it
		case m.Header.Type == unix.RTM_DELLINK:
			return p.failed("was removed")
		case m.Header.Type == unix.RTM_NEWLINK && info.Flags&unix.IFF_UP == 0:
			return p.failed("was set down")
		}
	}
	return nil
}

// up wants the device to be there and up.
func (p *Port) up() error {
	device, err := p.Namespace.links.LinkByIndex(p.Index)
	switch {
	case errors.As(err, &netlink.LinkNotFoundError{}):
		return p.failed("was removed")
	case err != nil:
		return fmt.Errorf("%s: %w", p, err)
	case device.Attrs().Flags&net.FlagUp == 0:
		return p.failed("is down")
	}
	return nil
}

func (p *Port) failed(how string) error { return fmt.Errorf("%w: %s %s", ErrLink, p, how) }

// String says which device it is.
func (p *Port) String() string {
	if p.Namespace == nil || p.Namespace.Name == "" {
		return p.Device
	}
	return p.Device + " of " + p.Namespace.Name
}

// Carriers says how often the outer ends of N3 and N6 have lost their carrier, as when a
// cable is pulled, or the other end of a veth pair is set down.
type Carriers struct {
	ports []Port
	lost  []uint32
}

// Carriers returns that of now.
func (t *Topology) Carriers() (Carriers, error) {
	c := Carriers{ports: t.outer()}
	for i := range c.ports {
		_, lost, err := c.ports[i].carrier()
		if err != nil {
			return c, fmt.Errorf("topology: %w", err)
		}
		c.lost = append(c.lost, lost)
	}
	return c, nil
}

// Kept wants no carrier to have been lost since.
//
// Errors: [ErrLink].
func (c Carriers) Kept() error {
	for i := range c.ports {
		on, lost, err := c.ports[i].carrier()
		if err == nil && (!on || lost != c.lost[i]) {
			err = c.ports[i].failed("lost its carrier")
		}
		if err != nil {
			return fmt.Errorf("topology: %w", err)
		}
	}
	return nil
}

// AwaitCarrier returns once the port has a carrier: some drivers let go of it for a while
// when an XDP program is attached.
//
// Errors: [ErrLink].
func (p *Port) AwaitCarrier() error {
	const most, often = 10 * time.Second, 20 * time.Millisecond
	for deadline := time.Now().Add(most); ; time.Sleep(often) {
		on, _, err := p.carrier()
		switch {
		case err != nil:
			return fmt.Errorf("topology: %w", err)
		case on:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("topology: %w", p.failed(fmt.Sprintf("has no carrier for %v", most)))
		}
	}
}

// carrier reports whether the device has a carrier, and how often it has lost it.
// Source: Linux net/core/rtnetlink.c, IFLA_CARRIER_DOWN_COUNT, since 4.16.
func (p *Port) carrier() (on bool, lost uint32, err error) {
	err = p.Namespace.Do(func() error {
		request := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_ACK)
		message := nl.NewIfInfomsg(unix.AF_UNSPEC)
		message.Index = int32(p.Index)
		request.AddData(message)
		answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
		if err != nil || len(answers) == 0 {
			return err
		}
		on = nl.DeserializeIfInfomsg(answers[0]).Flags&unix.IFF_LOWER_UP != 0
		attributes, err := nl.ParseRouteAttr(answers[0][unix.SizeofIfInfomsg:])
		at := slices.IndexFunc(attributes, func(a syscall.NetlinkRouteAttr) bool { return a.Attr.Type == unix.IFLA_CARRIER_DOWN_COUNT })
		if err == nil && at >= 0 && len(attributes[at].Value) >= 4 {
			lost = nl.NativeEndian().Uint32(attributes[at].Value)
		}
		return err
	})
	if errors.Is(err, unix.ENODEV) {
		return false, 0, p.failed("was removed")
	}
	if err != nil {
		return false, 0, fmt.Errorf("%s: %w", p, err)
	}
	return on, lost, nil
}
