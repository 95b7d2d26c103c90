package n4load

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Config says who talks to whom. Only Local and Remote must be given.
type Config struct {
	Local  netip.AddrPort // IPv4; port 0: any
	Remote netip.AddrPort // of the UP function; port 0: 8805
	NodeID pfcp.NodeID    // zero: the local address
	Window int            // requests in flight in a bulk call, 1 to MaxWindow, as many as the UP function's socket can hold; 0: DefaultWindow
	T1     time.Duration  // until a request without response is repeated; 0: DefaultT1
	N1     int            // how often it is sent altogether; 0: DefaultN1

	// Told is called by the thread with each Session Report Request about a session of the
	// client, and each Association Setup and Association Update Request, which are accepted
	// then. They are valid until it returns. nil: the latter two are not answered.
	Told func(h pfcp.Header, m pfcp.Message)
}

// Options are those of a [Group].
type Options struct {
	// Spin is how long before a request is due the thread stops to sleep and
	// watches clock and sockets: as long as it may take to wake.
	Spin time.Duration
	CPUs []int // that the thread may run on; empty: any
}

// Defaults and limits. T1 and N1 are left to the implementation by TS 29.244,
// 6.4.
const (
	DefaultWindow = 32
	MaxWindow     = 1 << 15
	DefaultT1     = time.Second
	DefaultN1     = 4
	DefaultSpin   = 100 * time.Microsecond
	MaxClients    = 256 // of a group

	maxN1       = 100
	batchSize   = 64
	maxDatagram = 1 << 16
	readBuffer  = 8 << 20 // octets; the kernel may give less
)

// Errors that the methods of [Client] and [Population] wrap.
var (
	ErrNoResponse = errors.New("no response")
	ErrRefused    = errors.New("refused")
	ErrClosed     = errors.New("client closed")
)

// complete fills in the defaults.
func (c Config) complete() (Config, error) {
	if !c.Local.Addr().Is4() || !c.Remote.Addr().Is4() {
		return c, fmt.Errorf("n4load: local %s, remote %s: both must be IPv4", c.Local, c.Remote)
	}
	if c.Remote.Port() == 0 {
		c.Remote = netip.AddrPortFrom(c.Remote.Addr(), pfcp.Port)
	}
	if !c.NodeID.Addr.IsValid() && len(c.NodeID.FQDN) == 0 {
		c.NodeID.Addr = c.Local.Addr()
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.T1 == 0 {
		c.T1 = DefaultT1
	}
	if c.N1 == 0 {
		c.N1 = DefaultN1
	}
	if c.Window < 1 || c.Window > MaxWindow || c.T1 < 0 || c.N1 < 1 || c.N1 > maxN1 {
		return c, fmt.Errorf("n4load: window %d, T1 %v, N1 %d: out of range", c.Window, c.T1, c.N1)
	}
	return c, nil
}

// LocalFor returns the address from which this host sends to the UP function with address a,
// for Local of a [Config].
func LocalFor(a netip.Addr) (netip.Addr, error) {
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, pfcp.Port)))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("route to N4 of the UPF: %w", err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr(), nil
}
