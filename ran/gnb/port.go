package gnb

import (
	"errors"
	"sync"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// Port replaces the TUN device of a UE: a component of this process that receives its downlink,
// such as the MAC of a cell. Uplink packets go to [GNB.Uplink].
type Port interface {
	// Deliver takes a user packet, which is valid until Deliver returns, and reports
	// whether there was room for it. It is called by the one goroutine that reads N3.
	Deliver(packet []byte) bool
}

// portOut is the downlink of a UE with a Port, in the place of a device's writer.
// Packets are delivered as they are added, at most of an MTU.
type portOut struct {
	port Port
	cut  vnet.Cutter
	buf  []byte // a packet that was cut from a longer one
	lost int    // since the last Flush
}

func newPortOut(p Port, mtu int) *portOut { return &portOut{port: p, buf: make([]byte, mtu)} }

// errNoRoom is why packets to a Port are lost.
var errNoRoom = errors.New("gnb: no room")

// Room implements packetWriter.
func (p *portOut) Room() int { return 1 }

// Add implements packetWriter.
func (p *portOut) Add(packet []byte, _ uint32) {
	if !p.port.Deliver(packet) {
		p.lost++
	}
}

// AddUnfinished implements packetWriter: of a packet that is longer than the MTU the
// cutter makes several. ok is false if there is nothing to cut, and the packet was not
// added; its checksum is right now.
func (p *portOut) AddUnfinished(packet []byte, _ uint32, mtu int) (vnet.Super, bool) {
	s, ok := p.cut.Begin(packet, mtu)
	if !ok {
		return s, false
	}
	for n := p.cut.Next(p.buf); n > 0; n = p.cut.Next(p.buf) {
		p.Add(p.buf[:n], 0)
	}
	return s, true
}

// Flush implements packetWriter.
func (p *portOut) Flush() (lost int, err error) {
	if lost, p.lost = p.lost, 0; lost > 0 {
		err = errNoRoom
	}
	return lost, err
}

// Uplink is what a UE with a [Port] sends through: packets are held back until
// [Uplink.Flush], so that they go to N3 together. It is for one goroutine at a
// time.
type Uplink struct {
	mu     sync.Mutex // against Close
	up     *uplink
	mtu    int
	closed bool
}

// Send takes a user packet, which is copied. One that is no IP packet or longer than the
// MTU is counted as an error; after the gNB was closed packets are lost.
func (u *Uplink) Send(packet []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	if len(packet) > u.mtu || !isIP(packet) {
		u.up.errCount.Add(1)
		return
	}
	if len(u.up.burst) == cap(u.up.burst) {
		u.up.sendBurst()
	}
	u.up.hold(packet)
}

// Flush sends what is held back.
func (u *Uplink) Flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed && len(u.up.burst) > 0 {
		u.up.sendBurst()
	}
}

func (u *Uplink) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}

// Uplink returns where the packets of a UE with a [Port] go, by its index in
// [Config.UEs]; nil: it has a device.
func (g *GNB) Uplink(ue int) *Uplink { return g.ports[ue] }

// hold copies a packet behind the header of a G-PDU.
func (u *uplink) hold(packet []byte) {
	if len(u.burst) == 0 {
		u.turn()
	}
	buf := u.mem.slot(len(u.burst))
	gtpu.AppendGPDU(buf[:0], u.teid, gtpu.PDUTypeUplink, u.qfi, len(packet))
	n := copy(buf[u.lenGPDU:], packet)
	u.burst = append(u.burst, buf[:u.lenGPDU+n])
}

func (u *uplink) sendBurst() {
	u.send()
	u.burst = u.burst[:0]
}

// openPort makes both ways of a UE that has a Port.
func (g *GNB) openPort(config UE, _ int, local bool) error {
	up, err := newUplink(g.config.N3, config)
	if err != nil {
		return err
	}
	g.add(config, up, newPortOut(config.Port, g.mtu), local)
	g.ports[len(g.ues)-1] = &Uplink{up: up, mtu: g.mtu}
	return nil
}
