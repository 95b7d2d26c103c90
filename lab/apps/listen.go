package apps

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

const (
	listenTime  = 10 * time.Second // until a server listens
	listenEvery = 10 * time.Millisecond
)

// listening returns when a server has its port, or has ended.
func listening(ctx context.Context, ns *topology.Namespace, p *Process, protocol string, port uint16) error {
	deadline := time.Now().Add(listenTime)
	for {
		has, err := listens(ns, protocol, port)
		if err != nil || has {
			return err
		}
		select {
		case <-p.ended:
			return p.Exited()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(listenEvery):
		}
		if time.Now().After(deadline) {
			return p.failure(fmt.Errorf("does not listen on %s port %d within %v", protocol, port, listenTime))
		}
	}
}

// listens reports whether a program has a port of a namespace, "tcp" or "udp", of
// IPv4 or IPv6.
func listens(ns *topology.Namespace, protocol string, port uint16) (bool, error) {
	read := topology.UDPSockets
	if protocol == "tcp" {
		read = topology.TCPSockets
	}
	var has bool
	err := ns.Do(func() error {
		sockets, err := read()
		has = hasPort(sockets, protocol == "tcp", port)
		return err
	})
	return has, err
}

// hasPort looks for a local port, of TCP one that listens.
func hasPort(sockets procfs.NetIPSocket, tcp bool, port uint16) bool {
	for _, s := range sockets {
		if s.LocalPort == uint64(port) && (!tcp || s.St == unix.BPF_TCP_LISTEN) {
			return true
		}
	}
	return false
}
