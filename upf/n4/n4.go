// Package n4 is the PFCP endpoint of the UP function: it answers CP functions
// (SMF, PGW-C, SGW-C), keeps sessions as they ask, and reports to them.
//
// A datagram goes through it like this:
//
//	socket > reader: header, allowed peer, seen before? (response cache)
//	    heartbeats      answered at once, from anybody who is allowed, without state
//	    node messages   associations, PFDs, session sets
//	    session         decoded (pfcp), converted, done (session), answered
//	responses > transaction that waits for it
//
// The kernel gives a datagram to the socket that the SEID in it says, so what
// concerns a session is done in order, and one CP function keeps all CPUs busy.
// Each socket has one reader, which reads and answers in batches; answers leave
// when the store holds what they say. Where the datapath is asked over a network,
// readers hand requests to handlers.
//
// What is done with each message, who may do what, and what becomes of sessions
// when peers are lost or started anew is in docs/n4.md.
//
// Source: TS 29.244 V18.6.0.
package n4

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Endpoint is a PFCP endpoint.
type Endpoint struct {
	config   Config
	nodeID   pfcp.NodeID
	recovery pfcp.TimeStamp
	restored bool // recovery is what the store has
	sessions *session.Manager
	store    Store
	counters Counters
	reports  reports
	peers    peers
	losses   losses
	pfds     pfds
	pending  transactions
	cache    *responseCache
	log      *limitedLog
	patience time.Duration                            // with an association that ends
	transmit func(to netip.AddrPort, datagram []byte) // how requests of ours and late responses go

	// run is cancelled when the endpoint closes; background work runs in it.
	run        context.Context
	stop       context.CancelFunc
	background sync.WaitGroup
	addr       netip.AddrPort
	sockets    []*socket
	readers    []*reader
	handlers   *handlers // nil: the readers do the work
	strangers  bucket    // of all who are not associated

	advertised atomic.Uint64 // UP Function Features
	leaving    atomic.Bool   // no new sessions: Release was called
	storeDown  atomic.Bool   // the store has failed, and was not well since

	load        load
	loadMu      sync.Mutex
	loadChanged time.Time // guarded by loadMu
}

// ErrClosed is what Serve returns after Close.
var ErrClosed = errors.New("n4: closed")

// Listen binds the sockets of a new endpoint. Requests wait in them until
// Serve.
func Listen(c Config, m *session.Manager) (*Endpoint, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	sockets, err := listen(c.Listen, c.Sockets)
	if err != nil {
		return nil, err
	}
	e := newEndpoint(c, m)
	e.sockets = sockets
	e.addr = netip.AddrPortFrom(c.Listen.Addr().Unmap(), sockets[0].LocalAddr().(*net.UDPAddr).AddrPort().Port())
	for _, s := range sockets {
		e.readers = append(e.readers, newReader(e, s))
	}
	return e, nil
}

// newEndpoint returns an endpoint without sockets.
func newEndpoint(c Config, m *session.Manager) *Endpoint {
	e := &Endpoint{
		config:   c,
		recovery: pfcp.NewTimeStamp(c.RecoveryTime),
		sessions: m,
		store:    c.Store,
		cache:    newResponseCache(c.CacheOctets),
		log:      newLimitedLog(c.Log),
		patience: defaultPatience,
		addr:     c.Listen,
		reports:  reports{t1: c.T1, n1: c.N1},
	}
	if a, err := netip.ParseAddr(c.NodeID); err == nil {
		e.nodeID.Addr = a.Unmap()
	} else {
		e.nodeID.FQDN = pfcp.NewName(c.NodeID)
	}
	if e.store == nil {
		e.store = noStore{}
	}
	e.advertised.Store(uint64(c.features(c.Capabilities)))
	e.transmit = e.send
	e.run, e.stop = context.WithCancel(context.Background())
	e.peers.init()
	e.pending.init()
	return e
}

// Addr is where the endpoint listens.
func (e *Endpoint) Addr() netip.AddrPort { return e.addr }

// Counters returns the endpoint's counters.
func (e *Endpoint) Counters() *Counters { return &e.counters }

// Serve answers requests until Close; then it returns [ErrClosed].
func (e *Endpoint) Serve() error {
	e.resume()
	if n := e.config.Handlers; n > 0 {
		e.handlers = newHandlers(e, n)
		e.handlers.start(e.sockets)
	}
	e.background.Go(e.measureLoad)
	e.background.Go(e.watchSessions)
	for _, addr := range e.config.Associate {
		e.background.Go(func() { e.keepAssociated(addr) })
	}
	errs := make(chan error, len(e.readers))
	for _, r := range e.readers {
		if e.handlers != nil {
			r.hand = e.handlers.newHandOff()
		}
		go func() { errs <- r.serve() }()
	}
	var err error
	for i := range e.readers {
		if rerr := <-errs; i == 0 {
			err = rerr
			e.Close() // one reader less would lose the sessions of its socket
		}
	}
	if e.handlers != nil {
		e.handlers.stop()
	}
	e.background.Wait()
	return err
}

// Close ends Serve. Sessions stay as they are.
func (e *Endpoint) Close() {
	e.stop()
	_ = closeAll(e.sockets) // a second Close has nothing to say
}

// Association is what is known of an association.
type Association struct {
	NodeID   string
	Addr     netip.Addr
	Since    time.Time
	Recovery time.Time // the CP function's Recovery Time Stamp
	PathDown bool      // it does not answer our heartbeats
	Sessions int
	Owner    uint32 // session.Session.Owner of its sessions
	// LeaveOut is what its CP function is not sent, as it cannot read it.
	LeaveOut LeaveOut
}

// Associations lists the associations in the order in which they were set up.
func (e *Endpoint) Associations() []Association {
	var list []Association
	for _, a := range e.peers.list() {
		list = append(list, Association{
			NodeID: a.node.String(), Addr: a.addr, Since: a.since, Owner: a.owner,
			Recovery: pfcp.TimeStamp(a.recovery.Load()).Time(), PathDown: a.pathDown.Load(),
			Sessions: int(a.sessions.Load()), LeaveOut: a.forms.leave(),
		})
	}
	slices.SortFunc(list, func(a, b Association) int { return int(a.Owner) - int(b.Owner) })
	return list
}

// send sends one datagram at once, from the first socket.
func (e *Endpoint) send(to netip.AddrPort, datagram []byte) {
	e.counters.Sent[datagram[1]].Add(1)
	if _, err := e.sockets[0].WriteToUDPAddrPort(datagram, to); err != nil && e.run.Err() == nil {
		e.counters.SendErrors.Add(1)
	}
}
