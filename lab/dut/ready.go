package dut

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"plumbline/lab/topology"
	"plumbline/pfcp"
)

const (
	heartbeatEvery = 50 * time.Millisecond
	maxDatagram    = 65535
)

// waitReady returns when the UPF answers a Heartbeat Request, has ended, or has
// had time enough.
func (d *DUT) waitReady(ctx context.Context, c Config) error {
	conn, err := dialN4(c.Namespace, c.UPF.N4.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline := time.Now().Add(readyTime)
	for sequence := uint32(1); time.Now().Before(deadline); sequence++ {
		if answered, err := heartbeat(conn, sequence); answered || err != nil {
			return err
		}
		select {
		case <-d.done:
			return d.Err()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(heartbeatEvery):
		}
	}
	return fmt.Errorf("N4 %v answers no Heartbeat Request within %v; the end of the UPF's log:\n%s",
		c.UPF.N4.Address, readyTime, d.log)
}

// dialN4 makes a socket in the namespace.
func dialN4(ns *topology.Namespace, address netip.Addr) (conn *net.UDPConn, err error) {
	err = ns.Do(func() error {
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, pfcp.Port)))
		return err
	})
	return conn, err
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
