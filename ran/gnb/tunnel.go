package gnb

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// tunnel is where the uplink of a UE leads.
type tunnel struct {
	teid uint32
	conn *net.UDPConn
	out  *mmsg.Sender
	gso  bool
}

func openTunnel(n N3, teid uint32, upf netip.Addr) (*tunnel, error) {
	conn, err := dialN3(n, upf)
	if err != nil {
		return nil, err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &tunnel{teid: teid, conn: conn, out: mmsg.NewSender(raw, batchSize), gso: !n.DisableGSO && segments(conn)}, nil
}

// enter makes u send into a tunnel.
func (u *uplink) enter(t *tunnel) {
	u.teid, u.conn, u.out, u.gso = t.teid, t.conn, t.out, t.gso
	if u.super != nil {
		u.frame = newFrame(u.conn)
	}
}

// turn makes u send into the tunnel that it was given last. The sender calls it, between
// bursts.
func (u *uplink) turn() {
	if t := u.next.Swap(nil); t != nil {
		u.conn.Close()
		u.enter(t)
	}
}

// errClosed is why a UE's tunnel cannot be moved.
var errClosed = errors.New("gnb: closed")

// SetUplink gives a UE, by its index in [Config.UEs], another F-TEID of a UPF for its uplink, as
// after a UPF has lost its session and it was established again. It may be called at any time; the
// following uplink packets go there.
func (g *GNB) SetUplink(ue int, teid uint32, upf netip.Addr) error {
	g.moving.Lock()
	defer g.moving.Unlock()
	if g.shutDown {
		return errClosed
	}
	moved := g.ues[ue].UE // its addresses and names never change
	moved.UplinkTEID, moved.UPF = teid, upf
	if err := moved.validate(false); err != nil {
		return err
	}
	if g.super != nil {
		err := nsenter.In(g.config.N3.Namespace, func() error { return checkFarEnd(g.super.device, []UE{moved}) })
		if err != nil {
			return err
		}
	}
	to, err := openTunnel(g.config.N3, teid, upf)
	if err != nil {
		return fmt.Errorf("ue %s: %w", moved.Name, err)
	}
	g.down.setUplink(g.ues[ue], fteid{teid, upf})
	if unused := g.ups[ue].next.Swap(to); unused != nil { // nothing was sent since the last move
		unused.conn.Close()
	}
	return nil
}

// setUplink makes Error Indications about an F-TEID those of a UE.
func (d *downlink) setUplink(u *ue, to fteid) {
	d.paths.add(to.address)
	d.peerMu.Lock()
	defer d.peerMu.Unlock()
	for old, of := range d.byPeer {
		if of == u {
			delete(d.byPeer, old)
		}
	}
	d.byPeer[to] = u
	u.told.Store(false)
}
