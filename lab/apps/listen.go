package apps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

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
	var has bool
	err := ns.Do(func() error {
		for _, table := range []string{protocol, protocol + "6"} {
			text, err := os.ReadFile("/proc/thread-self/net/" + table)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
				return err
			}
			has = has || hasPort(string(text), protocol == "tcp", port)
		}
		return nil
	})
	return has, err
}

// hasPort looks for a local port in a table as /proc/net/tcp: local address and port
// are the second column, the state is the fourth. Source: proc(5).
func hasPort(table string, tcp bool, port uint16) bool {
	const listen = "0A" // TCP_LISTEN
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasSuffix(f[1], suffix) && (!tcp || f[3] == listen) {
			return true
		}
	}
	return false
}
