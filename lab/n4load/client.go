package n4load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/ipv4"

	"plumbline/pfcp"
)

// Config says who talks to whom. Only Local and Remote must be given.
type Config struct {
	Local  netip.AddrPort // IPv4; port 0: any
	Remote netip.AddrPort // of the UP function; port 0: 8805
	NodeID pfcp.NodeID    // zero: the local address
	Window int            // requests in flight, 1 to MaxWindow, as many as the UP function's socket can hold; 0: DefaultWindow
	T1     time.Duration  // until a request without response is repeated; 0: DefaultT1
	N1     int            // how often it is sent altogether; 0: DefaultN1
}

// Defaults and limits of [Config]. T1 and N1 are left to the implementation by
// TS 29.244, 6.4.
const (
	DefaultWindow = 32
	MaxWindow     = 4096
	DefaultT1     = time.Second
	DefaultN1     = 4

	batchSize   = 64
	maxDatagram = 1 << 16
	readBuffer  = 4 << 20 // octets; the kernel may give less
)

// Errors that the methods of [Client] wrap.
var (
	ErrNoResponse = errors.New("no response")
	ErrRefused    = errors.New("refused")
	ErrClosed     = errors.New("client closed")
)

// Client is one CP function with one socket. Its methods may be called from
// several goroutines; bulk calls wait for each other.
type Client struct {
	config  Config
	remote  *net.UDPAddr
	conn    *net.UDPConn
	batches *ipv4.PacketConn
	started pfcp.TimeStamp

	running sync.Mutex     // held by the bulk call
	out     []ipv4.Message // of the bulk call
	wake    chan struct{}  // something has been received
	done    chan struct{}  // the receiver has ended

	mu         sync.Mutex
	sequence   uint32
	job        job // nil between the calls
	window     window
	report     *Report
	failure    error // the first of this call
	heartbeats uint64
	reply      []byte
}

// Dial opens the socket, in the network namespace of the calling thread, and
// starts to answer heartbeats. It sends nothing.
func Dial(c Config) (*Client, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(c.Local))
	if err != nil {
		return nil, fmt.Errorf("n4load: %w", err)
	}
	_ = conn.SetReadBuffer(readBuffer) // the window fits the default buffer too, if it must
	client := &Client{
		config: c, conn: conn, batches: ipv4.NewPacketConn(conn),
		remote:  net.UDPAddrFromAddrPort(c.Remote),
		started: pfcp.NewTimeStamp(time.Now()),
		wake:    make(chan struct{}, 1), done: make(chan struct{}),
		window: newWindow(c.Window),
		// Not 0: a UP function may still have an earlier client's sequence
		// numbers in its response cache.
		sequence: rand.Uint32() & maxSequence,
	}
	go client.receive()
	return client, nil
}

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
	if c.Window < 1 || c.Window > MaxWindow || c.T1 < 0 || c.N1 < 1 {
		return c, fmt.Errorf("n4load: window %d, T1 %v, N1 %d: out of range", c.Window, c.T1, c.N1)
	}
	return c, nil
}

// LocalAddr returns the socket's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// Heartbeats returns how many Heartbeat Requests have been answered.
func (c *Client) Heartbeats() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heartbeats
}

// Close closes the socket. A call that is under way returns [ErrClosed]. The UP
// function keeps the association and the sessions.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}
