package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf/ringbuf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// slowPath finishes what the programs hand on: it reads GTP-U messages that the
// kernel has put together and passed to the sockets, and frames from N6 out of
// the ring, treats them by the model over the driver's tables, and lets the
// kernel send the result, which resolves the next hop and fragments.
//
// It holds the driver's lock for reading while it treats a packet, until the
// packet is sent: so a change of rules finds none under way.
type slowPath struct {
	d      *Driver
	stages stages.Stages
	host   host
	send   sender
	counts []atomic.Uint64 // by reason

	markers markers
	copier  copier

	mu        sync.Mutex // of what follows
	answers   stages.Limiter
	strangers stages.Limiter // Echo Requests of whom we do not send to
	stopped   []uint32       // queues of which the programs drop the packets
}

// host knows this host's addresses.
type host interface {
	Has(a netip.Addr) bool     // whether a user packet to a must not be given to it
	Router(v6 bool) netip.Addr // of ICMP errors; not valid: none
}

// sender puts IP packets on the wire.
type sender interface {
	tunnel(packet []byte, local netip.Addr) error    // outer packet from this address of ours
	n6(packet []byte, way int, via netip.Addr) error // user packet, to a neighbour
	ethernet(frame []byte, way int) error            // frame of an Ethernet PDU session
}

// answersPerSecond bounds what strangers can make the UPF send.
const answersPerSecond = 100

// newSlowPath returns one that has no sockets yet.
func newSlowPath(d *Driver) *slowPath {
	s := &slowPath{
		d: d, send: noSockets{}, host: noSockets{},
		counts:  make([]atomic.Uint64, len(datapath.Reasons())+1),
		answers: stages.Limiter{PerSecond: answersPerSecond}, strangers: stages.Limiter{PerSecond: answersPerSecond},
	}
	s.stages = stages.Stages{
		Tables: slowTables{d}, Now: d.cfg.now, Post: d.events.Post,
		Buffer: stages.NewBuffer(d.cfg.Buffer, d.cfg.now, s.count),
		Links:  slowLinks{s}, Answers: stages.NewAnswers(), Advertise: d.cfg.Advertise,
		N6:        d.n6Side(),
		Redirects: stages.NewRedirects(newSecret()), Names: stages.NewNames(d.names), Bridge: stages.NewBridge(d.stations),
		Endpoints: d.cfg.Endpoints, Hosts: slowLinks{s},
	}
	s.markers.send, s.markers.rules = s.sendSignal, d.mu.RLocker()
	s.copier.s = s
	return s
}

// startSlow opens the sockets and starts the readers.
func (d *Driver) startSlow() error {
	kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("xdp: netlink: %w", err)
	}
	d.detach = append(d.detach, func() error { kernel.Close(); return nil })
	if d.slow == nil {
		d.slow = newSlowPath(d)
	}
	s := d.slow
	conns, err := rawip.ListenGTPU(d.cfg.Endpoints, rawip.Guarded(d.cfg.Endpoints, &d.cfg.N6, d.ports.index))
	if err != nil {
		return err
	}
	raw, err := newRawSender(conns, d.ports, &d.cfg.N6)
	if err != nil {
		return errors.Join(err, conns.Close())
	}
	ring, err := ringbuf.NewReader(d.objs.Exceptions)
	if err != nil {
		return errors.Join(fmt.Errorf("xdp: exception ring: %w", err), conns.Close(), raw.close())
	}
	copies, err := s.copier.start(d.objs.Copies)
	if err != nil {
		return errors.Join(err, conns.Close(), raw.close(), ring.Close())
	}
	s.connect(raw, rawip.NewHost(kernel, d.ports.n6[0].index, d.log))
	var done sync.WaitGroup
	for to, conn := range conns {
		done.Go(func() { s.readGTPU(conn.UDPConn, netip.AddrPortFrom(to, gtpu.Port)) })
	}
	done.Go(func() { s.readRing(ring) })
	done.Go(func() { s.copier.read(copies) })
	closed := make(chan struct{})
	done.Go(func() { s.tend(closed) })
	s.markers.start()
	done.Go(func() { s.markers.run(closed) })
	d.detach = append(d.detach, func() error {
		close(closed)
		d.drain(ring, copies)
		err := errors.Join(conns.Close(), ring.Close(), copies.Close())
		done.Wait()
		s.connect(noSockets{}, noSockets{})
		return errors.Join(err, raw.close())
	})
	return nil
}

func (s *slowPath) readGTPU(conn *net.UDPConn, to netip.AddrPort) {
	buf := make([]byte, 65536)
	s.d.ending.fail(s.d.readAll("GTP-U", func() error {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err == nil {
			from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
			s.fromTunnel(stages.Datagram{From: from, To: to, Payload: buf[:n]})
		}
		return err
	}))
}

// fromTunnel treats one GTP-U message.
func (s *slowPath) fromTunnel(m stages.Datagram) {
	s.d.mu.RLock()
	defer s.d.mu.RUnlock()
	s.tunnelled(m)
}

// tunnelled is fromTunnel with the driver's lock held for reading.
func (s *slowPath) tunnelled(m stages.Datagram) stages.Out {
	if len(m.Payload) == 0 {
		out := stages.Out{Reason: datapath.DropDevice}
		s.finish(out, came{message: &m})
		return out
	}
	out := s.stages.Tunnelled(m)
	s.finish(out, came{message: &m})
	if out.Reason != datapath.ReasonNone {
		s.signal(m, out.Reason)
	}
	return out
}

func (s *slowPath) readRing(ring *ringbuf.Reader) {
	var record ringbuf.Record
	s.d.ending.fail(s.d.readAll("the ring of exceptions", func() error {
		err := ring.ReadInto(&record)
		if err == nil {
			s.exceptional(parseException(record.RawSample))
		}
		return err
	}))
}

// bare treats a packet from N6 that came on a device, and to which the programs may
// have given its UE's address. The driver's lock is held for reading.
func (s *slowPath) bare(packet []byte, device int, translated bool) stages.Out {
	treat := s.stages.Bare
	if translated {
		treat = s.stages.Translated
	}
	out := treat(s.d.networkOn(device), packet)
	s.finish(out, came{packet: packet, device: device})
	return out
}

// finish sends a packet, or counts why it is not sent, and sends what else leaves
// because of it.
func (s *slowPath) finish(o stages.Out, c came) {
	reason, again := o.Reason, (*stages.Datagram)(nil)
	if reason == datapath.ReasonNone {
		again, reason = s.emit(o.Sent())
	}
	s.count(reason)
	s.d.tracer.slowly(c, o, reason)
	s.again(again)
	for _, other := range o.Others {
		again, reason := s.emit(other)
		s.count(reason)
		s.d.tracer.besides(c, o, other, reason)
		s.again(again)
	}
	s.copier.later(o)
	for _, b := range o.Bridged {
		s.finish(b, c)
	}
}

// emit sends one packet, or returns why it is not sent. One that is to an F-TEID of our
// own is returned, for [slowPath.again].
func (s *slowPath) emit(p stages.Sent) (*stages.Datagram, datapath.Reason) {
	if again, reason := s.stages.Again(p); reason != datapath.ReasonNone {
		return nil, reason
	} else if again != nil {
		return again, reason
	}
	switch {
	case p.Outer != nil:
		return nil, s.tunnel(p)
	case p.Ethernet:
		return nil, rawip.Reason(s.send.ethernet(p.Packet, p.Way))
	case s.host.Has(rawip.Destination(p.Packet)):
		return nil, datapath.DropLocal
	default:
		return nil, rawip.Reason(s.send.n6(p.Packet, p.Way, s.d.nextHop(p.Way, rawip.Destination(p.Packet), p.Flow)))
	}
}

// again treats a packet that has come to an F-TEID of ours; nil: there is none.
func (s *slowPath) again(m *stages.Datagram) {
	if m != nil {
		s.tunnelled(*m)
	}
}

// tunnel sends an outer packet where the host's routes lead.
func (s *slowPath) tunnel(p stages.Sent) datapath.Reason {
	q := s.d.waiting.Of(nexthop.Peer{Local: p.Outer.Local, Addr: p.Outer.Peer})
	if !q.Admit(len(p.Packet)) {
		return datapath.DropNextHop
	}
	err := s.send.tunnel(p.Packet, p.Outer.Local)
	if err != nil {
		q.Return(len(p.Packet))
	}
	return rawip.TunnelReason(err)
}

// release sends what was buffered for the rules of a session that forward now.
// The caller holds the driver's lock.
func (s *slowPath) release(seid uint64, rules []*stages.Rule, discard bool) {
	s.stages.Release(seid, rules, discard, func(o stages.Out) { s.finish(o, came{}) })
}

func (s *slowPath) count(r datapath.Reason) {
	if r != datapath.ReasonNone {
		s.counts[r].Add(1)
	}
}
