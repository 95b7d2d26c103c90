// Package gnb is the user plane of a gNB: UEs that are TUN devices of this
// machine, and GTP-U on N3 to any UPF. Programs that know nothing of it use the
// devices.
//
//	program ─ socket ─ TUN ─► uplink ─┐                       ┌─► UPF
//	                                  ├─ GTP-U, UDP 2152, N3 ─┤
//	program ─ socket ─ TUN ◄ downlink ┘                       └── UPF
//
// A UE may have a [Port] in this process instead of a device: then the other two
// boxes are the gNB's half of a radio.
//
// There is one goroutine for each UE's device (uplink) and one for everything
// that arrives on N3 (downlink). Packets are moved in batches and are not
// allocated for: device and socket read into memory that stays. TCP crosses
// the device in segments of up to 64 KiB in both directions, and N3 too if the
// UPF is on this machine and takes them ([N3.SuperPackets]).
//
// The gNB has no control plane: TEIDs come from its configuration, and another component installs
// sessions at the UPF, and may move them ([GNB.SetUplink]).
//
// Source: TS 29.281 V18.1.0 (GTP-U), TS 38.415 V18.0.0 (PDU Session Container).
package gnb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/internal/nsenter"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// GNB is a gNB with its devices. Make one with [New].
type GNB struct {
	config Config
	mtu    int // of the UE devices
	conn   *net.UDPConn
	down   *downlink
	ues    []*ue
	ups    []*uplink       // of ues, by index
	super  *superN3        // nil: none are sent
	ports  map[int]*Uplink // of UEs that have no device, by index

	devices []*vnet.Device // of ues
	log     *slog.Logger
	close   sync.Once

	moving   sync.Mutex    // of tunnels, and
	shutDown bool          // that they can no more
	lost     atomic.Uint64 // drops of conn, when it was closed
}

// New opens the N3 socket and makes the UEs' devices, which are there, up and
// with their addresses and routes, when it returns. End it with [GNB.Close],
// unless [GNB.Run] is called.
//
// Errors: [ErrConfig]; [os.ErrPermission] without CAP_NET_ADMIN.
func New(config Config, log *slog.Logger) (*GNB, error) {
	config, err := config.expand(false)
	if err != nil {
		return nil, err
	}
	conn, device, err := listenN3(config.N3)
	if err != nil {
		return nil, err
	}
	mtu := min(device.Attrs().MTU, maxMTU)
	if config.N3.MTU != 0 {
		mtu = config.N3.MTU
	}
	g := &GNB{config: config, mtu: mtu - overhead, conn: conn, log: log, ports: map[int]*Uplink{}}
	if g.mtu < MinMTU {
		err = fmt.Errorf("%w: MTU %d of N3 leaves %d for UEs, IPv6 needs %d", ErrConfig, mtu, g.mtu, MinMTU)
	} else if err = g.openDownlink(); err == nil {
		err = g.openUEs(device)
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *GNB) openDownlink() error {
	mem, err := newArena()
	if err != nil {
		return err
	}
	g.down = &downlink{
		conn: g.conn, mem: mem, log: g.log,
		peers:  g.config.N3.Peers,
		byTEID: make(map[uint32]*ue, len(g.config.UEs)),
		byPeer: make(map[fteid]*ue, len(g.config.UEs)),
		paths:  newPaths(g.conn, g.config.UEs, g.log),
		indic:  newErrorIndicator(g.conn, g.config.N3.Address),
	}
	bufs := make([][]byte, batchSize)
	for i := range bufs {
		bufs[i] = mem.slot(i)
	}
	raw, err := g.conn.SyscallConn()
	if err != nil {
		return err
	}
	g.down.in = mmsg.NewReceiver(raw, bufs)
	g.down.in.Most = mostMessages
	_ = g.down.in.AcceptSegments() // before Linux 5.0 each arrives separately
	return nil
}

func (g *GNB) openUEs(n3 netlink.Link) error {
	if g.config.N3.SuperPackets {
		err := nsenter.In(g.config.N3.Namespace, func() (err error) {
			g.super, err = openSuper(n3, g.config.UEs)
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, config := range g.config.UEs {
		open := g.openUE
		if config.Port != nil {
			open = g.openPort
		}
		if err := open(config, i, isVeth(n3)); err != nil {
			return err
		}
	}
	return nil
}

// openUE makes the device of a UE and both ways through it. local says that
// packets on N3 may never have been on a wire.
func (g *GNB) openUE(config UE, index int, local bool) error {
	device, err := openTUN(config, g.mtu, index)
	if err != nil {
		return err
	}
	g.devices = append(g.devices, device)
	up, err := newUplink(g.config.N3, config)
	if err != nil {
		return err
	}
	g.add(config, up, vnet.NewWriter(device.Queues[0], mostWritten, [6]byte{}, [6]byte{}), local)
	return up.read(device.Queues[0], g.super)
}

// add makes a UE of both ways.
func (g *GNB) add(config UE, up *uplink, out packetWriter, local bool) {
	u := &ue{UE: config, mtu: g.mtu, local: local, out: out}
	g.ups, g.ues = append(g.ups, up), append(g.ues, u)
	g.down.byTEID[config.DownlinkTEID] = u
	g.down.byPeer[fteid{config.UplinkTEID, config.UPF}] = u
}

// MTU returns the MTU of the UEs' devices in octets: that of N3 less 44.
func (g *GNB) MTU() int { return g.mtu }

// Run carries packets until ctx ends, then removes the devices. It returns nil
// if ctx has ended, and an error if all of the devices have gone before.
// Run can be called once.
func (g *GNB) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var background, uplinks sync.WaitGroup
	background.Go(g.down.run)
	if interval := g.config.N3.EchoInterval; interval > 0 {
		background.Go(func() { g.down.paths.run(ctx, interval) })
	}
	for i, up := range g.ups {
		uplinks.Go(func() {
			if g.ports[i] != nil {
				<-ctx.Done() // others send
				return
			}
			up.run()
			if ctx.Err() == nil {
				g.log.Warn("device has gone", "ue", g.ues[i].Name)
			}
		})
	}
	gone := make(chan struct{})
	go func() { uplinks.Wait(); close(gone) }()

	var err error
	select {
	case <-ctx.Done():
	case <-gone:
		if ctx.Err() == nil {
			err = errors.New("gnb: all devices have gone")
		}
	}
	cancel()
	g.shut()
	<-gone
	background.Wait()
	g.Close()
	return err
}

// shut ends every read.
func (g *GNB) shut() {
	g.lost.Store(g.socketDrops())
	g.conn.Close()
	for _, device := range g.devices {
		device.Close()
	}
}

// socketDrops returns what the N3 socket has lost, also after it was closed.
func (g *GNB) socketDrops() uint64 { return max(g.lost.Load(), socketDrops(g.conn)) }

// Close removes the devices and frees everything of a GNB that does not run.
func (g *GNB) Close() {
	g.close.Do(func() {
		g.moving.Lock()
		g.shutDown = true
		g.moving.Unlock()
		g.shut()
		for _, port := range g.ports {
			port.close()
		}
		for _, up := range g.ups {
			up.free()
		}
		if g.super != nil {
			g.super.close()
		}
		if g.down != nil {
			g.down.mem.free()
		}
	})
}
