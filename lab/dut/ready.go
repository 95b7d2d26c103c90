package dut

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
)

const (
	heartbeatEvery = 50 * time.Millisecond
	maxDatagram    = 65535
)

// waitReady returns when the UPF answers a Heartbeat Request, or has its sockets
// if it answers no stranger, has ended, or has had time enough: more of it while it
// computes.
func (d *Instance) waitReady(ctx context.Context) error {
	probe, what := d.listens, "has no sockets for N4 and GTP-U"
	if d.plan == nil || !d.plan.Silent {
		n4 := &prober{d: d}
		defer n4.close()
		probe, what = n4.answers, "answers no Heartbeat Request"
	}
	started, used := time.Now(), time.Duration(0)
wait:
	for deadline := started.Add(readyTime); ; {
		if ready, err := probe(); ready || err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			now, err := d.CPUTime()
			if err != nil || now-used < readyTime/4 || time.Since(started) >= loadTime {
				break wait
			}
			used, deadline = now, deadline.Add(readyTime)
		}
		select {
		case <-d.done:
			return d.Err()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(heartbeatEvery):
		}
	}
	return fmt.Errorf("N4 %v %s within %v; the end of the UPF's log:\n%s",
		d.Place.N4UPF, what, time.Since(started).Round(time.Second), d.log)
}

// prober sends Heartbeat Requests.
type prober struct {
	d        *Instance
	conn     *net.UDPConn // nil: there is no way to N4 yet
	sequence uint32
}

// answers says whether the UPF answers a Heartbeat Request. Programs that have a
// stack of their own make the way to N4 themselves.
func (p *prober) answers() (bool, error) {
	if p.conn == nil {
		address := net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.d.Place.N4UPF, pfcp.Port))
		err := p.d.Place.do(func() (err error) {
			p.conn, err = net.DialUDP("udp", nil, address)
			return err
		})
		if errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	p.sequence++
	return heartbeat(p.conn, p.sequence)
}

func (p *prober) close() {
	if p.conn != nil {
		p.conn.Close()
	}
}

// heartbeat sends one Heartbeat Request and waits a moment for its response.
// That nobody listens yet is no error.
func heartbeat(conn *net.UDPConn, sequence uint32) (answered bool, err error) {
	request, err := pfcp.Append(nil, pfcp.Header{Sequence: sequence}, &pfcp.HeartbeatRequest{
		RecoveryTimeStamp: pfcp.NewTimeStamp(time.Now()),
	})
	if err != nil {
		return false, err
	}
	if _, err := conn.Write(request); err != nil {
		return false, nil // the ICMP error of the request before
	}
	if err := conn.SetReadDeadline(time.Now().Add(heartbeatEvery)); err != nil {
		return false, err
	}
	b := make([]byte, maxDatagram)
	n, err := conn.Read(b)
	if errors.Is(err, net.ErrClosed) {
		return false, err
	}
	if err != nil {
		return false, nil // time-out, or nobody listens
	}
	h, _, _, err := pfcp.Parse(b[:n])
	return err == nil && h.Type == pfcp.MsgHeartbeatResponse, nil
}

// listens says whether the UPF's sockets for N4 and for GTP-U on N3 are there.
func (d *Instance) listens() (bool, error) {
	var sockets procfs.NetIPSocket
	err := d.Place.do(func() (err error) {
		sockets, err = topology.UDPSockets()
		return err
	})
	if err != nil {
		return false, err
	}
	return hasSocket(sockets, netip.AddrPortFrom(d.Place.N4UPF, pfcp.Port)) &&
		hasSocket(sockets, netip.AddrPortFrom(d.Place.N3.UPF.Address.Addr(), gtpu.Port)), nil
}

// hasSocket says whether one of the sockets takes what is sent to local.
func hasSocket(sockets procfs.NetIPSocket, local netip.AddrPort) bool {
	for _, s := range sockets {
		address, _ := netip.AddrFromSlice(s.LocalAddr)
		if s.LocalPort == uint64(local.Port()) && (address.Unmap() == local.Addr() || address == netip.IPv4Unspecified()) {
			return true
		}
	}
	return false
}
