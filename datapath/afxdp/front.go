package afxdp

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// Front processes frames before the stages, which get the frames that it passes on.
type Front interface {
	// NewLane returns what one worker lets its frames through; nil: this one has none.
	NewLane() Lane
	// Changed tells that what [Driver.Ports], [Driver.Exits], [Driver.Routes] or [Driver.Own]
	// return has changed. It is called often, must not wait, and must not call the driver.
	Changed()
}

// Lane treats the frames of one worker.
type Lane interface {
	// Process handles frames that arrived on the device with this number, at most
	// [vector.MaxVector], and reports the outcome of those that are not for the stages.
	Process(device int, frames [][]byte, out Outcome)
	// Close is called when the worker has ended.
	Close()
}

// Outcome receives the result of frames, by index. Frames without a result go to the stages, and
// must be unchanged.
type Outcome interface {
	// Send lets head and payload leave by a device. inPlace: payload is the end of the frame,
	// of which nothing else is needed any more.
	Send(frame, device int, head, payload []byte, inPlace bool)
	// Drop ends a frame, which the caller has counted.
	Drop(frame int)
}

// before lets what has arrived through the lane, and returns what is left to the stages.
func (w *worker) before() []*vector.Packet {
	n := len(w.coming)
	for i := range w.coming {
		d := &w.coming[i]
		start := int(d.Addr - w.umem.Base(d.Addr))
		w.frames[i] = w.umem.Bytes(d.Addr)[start : start+int(d.Len) : start+int(d.Len)]
		w.told[i] = false
	}
	w.lane.Process(w.comingFrom.device.number, w.frames[:n], w)
	w.flushAll()
	w.in = w.in[:0]
	for i := range w.coming {
		if !w.told[i] {
			w.take(w.comingFrom, &w.coming[i], &w.packets[i])
		}
	}
	return w.in
}

// Send implements [Outcome].
func (w *worker) Send(frame, device int, head, payload []byte, inPlace bool) {
	w.told[frame] = true
	if device < 0 || device >= len(w.out) {
		w.engine.Refuse(datapath.DropNextHop)
		return
	}
	p := &w.packets[frame]
	came := w.coming[frame]
	at := int(came.Addr - w.umem.Base(came.Addr))
	end := at + int(came.Len)
	start := end - len(payload) - len(head)
	if inPlace && start >= 0 && w.umem.OwnerOf(came.Addr) == xsk.Held {
		*p = vector.Packet{Buf: w.umem.Bytes(came.Addr), Start: start, End: end}
		copy(p.Buf[start:], head)
		w.add(w.out[device], p, w.umem.Base(came.Addr))
		return
	}
	offset, ok := w.umem.Take()
	if !ok && w.reclaim() == nil {
		offset, ok = w.umem.Take()
	}
	if !ok {
		w.engine.Refuse(datapath.DropTxFull)
		return
	}
	w.made = append(w.made, offset)
	b := w.umem.Bytes(offset)
	size := len(head) + len(payload)
	if vector.Headroom+size > len(b) {
		w.engine.Refuse(datapath.DropTxFull)
		return
	}
	copy(b[vector.Headroom+copy(b[vector.Headroom:], head):], payload)
	*p = vector.Packet{Buf: b, Start: vector.Headroom, End: vector.Headroom + size}
	w.add(w.out[device], p, offset)
}

// Drop implements [Outcome].
func (w *worker) Drop(frame int) { w.told[frame] = true }

// Port is a device of the driver.
type Port struct {
	Number   int
	Name     string
	MAC      [6]byte
	MTU      int          // octets of IP packet
	Network  int          // number of the data network behind it, from 1 on; 0: none
	Ethernet bool         // of an Ethernet data network
	Locals   []netip.Addr // at which GTP-U is terminated
}

// Ports returns the devices.
func (d *Driver) Ports() []Port {
	var all []Port
	for _, dev := range d.devices {
		all = append(all, Port{
			Number: dev.number, Name: dev.name, MAC: macOf(dev.mac.Load()), MTU: int(dev.mtu.Load()),
			Network: dev.network, Ethernet: dev.ethernet, Locals: dev.locals,
		})
	}
	return all
}

// Exit is a neighbour on a device.
type Exit struct {
	Device int // number
	MAC    [6]byte
	MTU    int // octets of IP packet
}

// Exits returns the neighbours of GTP-U peers whose packets leave through a device of the driver.
// Others are not included.
func (d *Driver) Exits() map[nexthop.Peer]Exit {
	all := map[nexthop.Peer]Exit{}
	for local, table := range d.peers.hops {
		for _, h := range table.list() {
			if e := h.exit.Load(); e != nil && e.dev != nil {
				all[nexthop.Peer{Local: local, Addr: h.addr}] = Exit{e.dev.number, macOf(e.mac), e.mtu}
			}
		}
	}
	return all
}

// Route is where packets to a prefix go that leave bare by a way.
type Route struct {
	Way    int
	Prefix netip.Prefix
	// Exit is by which neighbour; nil: the stages say, or the kernel, since there are
	// several, or none that is known.
	Exit *Exit
}

// Routes returns those of all ways, with neighbours on the link as routes of their own.
func (d *Driver) Routes() []Route {
	var all []Route
	for number, w := range d.ways {
		if w.cfg.Ethernet {
			continue
		}
		mtu := int(w.dev.mtu.Load())
		exit := func(mac uint64, most int) *Exit {
			if mac == 0 {
				return nil
			}
			e := &Exit{w.dev.number, macOf(mac), mtu}
			if most != 0 {
				e.MTU = min(e.MTU, most)
			}
			return e
		}
		table := w.routes.Load()
		for p, r := range table.all() {
			one := Route{Way: number, Prefix: p}
			if !r.onlink && r.single() {
				one.Exit = exit(r.hops[0].mac.Load(), r.mtu)
			}
			all = append(all, one)
		}
		for _, h := range w.neighbours.list() {
			if r := table.find(h.addr); r != nil && r.onlink {
				host := netip.PrefixFrom(h.addr, h.addr.BitLen())
				all = append(all, Route{Way: number, Prefix: host, Exit: exit(h.mac.Load(), r.mtu)})
			}
		}
	}
	return all
}

// Own returns the addresses of this host.
func (d *Driver) Own() []netip.Addr {
	if a := d.ownAddrs.Load(); a != nil {
		return *a
	}
	return nil
}

func (d *Driver) setOwn(addrs []netip.Addr) {
	d.hosts.Set(addrs)
	d.ownAddrs.Store(&addrs)
	d.changed()
}

// changed tells the front, if there is one.
func (d *Driver) changed() {
	if d.cfg.Front != nil {
		d.cfg.Front.Changed()
	}
}

func macOf(word uint64) (mac [6]byte) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	copy(mac[:], b[:])
	return mac
}

var _ Outcome = (*worker)(nil)
