package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/vnet"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// TUNConfig is a device of this machine to which the UEs' packets go.
type TUNConfig struct {
	Name      string `yaml:"name"`      // empty: nfapi-gnb
	Namespace string `yaml:"namespace"` // where the device is; empty: the caller's
	// Addresses of this machine on the device: IPv4, IPv6 or one of each.
	Addresses []netip.Addr `yaml:"addresses"`
	MTU       int          `yaml:"mtu"` // 0: 1456, as behind an N3 of Ethernet
}

const (
	defaultName = "nfapi-gnb"
	defaultMTU  = 1456

	batch      = 128 // packets that are moved at a time
	slotOctets = vnet.MaxPacket + headroom
	headroom   = 64 // of what is read, before the packet
	retryDelay = time.Millisecond
)

func (c *TUNConfig) check(m *yamltext.Checks, cell *radio.Config) {
	u, mtu := c.Device()
	m.Under("tun", gnb.ValidateDevice(u, mtu))
	for i, a := range c.Addresses {
		ue := slices.IndexFunc(cell.UEs, func(u radio.UE) bool { return slices.Contains(u.Addresses, a) })
		m.Want(ue < 0, fmt.Sprintf("tun.addresses[%d]", i), a, fmt.Sprintf("none of a UE: it is of radio.ues[%d]", ue))
	}
}

// Device is the device, with defaults set, and its MTU.
func (c *TUNConfig) Device() (u gnb.UE, mtu int) {
	return gnb.UE{Name: cmp.Or(c.Name, defaultName), Namespace: c.Namespace, Addresses: c.Addresses}, cmp.Or(c.MTU, defaultMTU)
}

// TUN is a core that is a device.
type TUN struct {
	device *vnet.Device
	in     *vnet.Reader
	mtu    int
	byAddr map[netip.Addr]int // UEs
	qfi    []uint8

	mu      sync.Mutex // against Close
	closed  bool
	out     *vnet.Writer
	held    []byte // the packets of out, one behind the other
	packets int    // of held

	unknown, lost atomic.Uint64
}

// heldOctets is how much is held back of a slot's packets before it is written.
const heldOctets = 1 << 20

// OpenTUN makes the device, with routes to the UEs of the cell.
func OpenTUN(c TUNConfig, cell *radio.Config) (*TUN, error) {
	u, mtu := c.Device()
	t := &TUN{mtu: mtu, byAddr: make(map[netip.Addr]int), held: make([]byte, 0, heldOctets)}
	u.Routes = []netip.Prefix{}
	for i := range cell.UEs {
		t.qfi = append(t.qfi, cell.UEs[i].QFI)
		for _, a := range cell.UEs[i].Addresses {
			t.byAddr[a] = i
			u.Routes = append(u.Routes, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	var err error
	if t.device, err = gnb.OpenDevice(u, mtu, 0); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	bufs := make([][]byte, batch+1)
	for i := range bufs {
		bufs[i] = make([]byte, slotOctets)
	}
	t.in = vnet.NewReader(t.device.Queues[0], bufs, headroom)
	t.out = vnet.NewWriter(t.device.Queues[0], batch, [6]byte{}, [6]byte{})
	return t, nil
}

// Run implements [Core].
func (t *TUN) Run(ctx context.Context, to radio.Downlink) error {
	stop := context.AfterFunc(ctx, t.Close)
	defer stop()
	defer t.Close()
	for {
		n, err := t.in.Next()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, os.ErrClosed), errors.Is(err, unix.EBADFD):
			return fmt.Errorf("core: device %s has gone", t.device.Name)
		case err != nil:
			t.lost.Add(1)
			time.Sleep(retryDelay)
			continue
		}
		for i := range n {
			buf, start, end := t.in.Packet(i)
			t.downlink(to, buf[start:end])
		}
	}
}

// downlink gives a packet to the UE that it is for.
func (t *TUN) downlink(to radio.Downlink, packet []byte) {
	ue, ok := t.byAddr[destination(packet)]
	if !ok {
		t.unknown.Add(1)
		return
	}
	if !to.Downlink(ue, t.qfi[ue], packet) {
		t.lost.Add(1)
	}
}

// destination is where an IP packet is to go; not valid if it is none.
func destination(b []byte) netip.Addr {
	switch {
	case len(b) >= inet.LenIPv4 && b[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(b[16:20]))
	case len(b) >= inet.LenIPv6 && b[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(b[24:40]))
	}
	return netip.Addr{}
}

// Uplink implements [radio.Core].
func (t *TUN) Uplink(_ int, _ uint8, packet []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	flow, ok := gnb.Flow(packet)
	if !ok || len(packet) > cap(t.held) {
		t.lost.Add(1)
		return
	}
	if t.packets == batch || len(t.held)+len(packet) > cap(t.held) {
		t.write()
	}
	start := len(t.held)
	t.held = append(t.held, packet...)
	t.packets++
	t.out.Add(t.held[start:], flow)
}

// Flush implements [radio.Core].
func (t *TUN) Flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write()
}

func (t *TUN) write() {
	if lost, err := t.out.Flush(); err != nil {
		t.lost.Add(uint64(lost))
	}
	t.held, t.packets = t.held[:0], 0
}

// MTU implements [Core].
func (t *TUN) MTU() int { return t.mtu }

// Lost returns how many packets were lost so far: of the downlink, and of both ways
// those that MAC or device did not take; and how many were for no UE.
func (t *TUN) Lost() (lost, unknown uint64) { return t.lost.Load(), t.unknown.Load() }

// Close removes the device.
func (t *TUN) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.device.Close()
	}
}
