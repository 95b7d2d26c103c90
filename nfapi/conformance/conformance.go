// Package conformance tests any live PNF or VNF from outside: it acts as the other half of the
// split, runs a list of cases, and reports for each what was sent, expected and received.
//
//	PNF under test ─ P5 connects ─► Run(PNF) ◄─ P7 ─► ...   we are the VNF
//	VNF under test ◄─ P5 connects ─ Run(VNF) ◄─ P7 ─► ...   we are the PNF
//
// A case requires a state (PNF CONFIGURED, PHY RUNNING, ...), to which the peer is brought first.
// After a failed case the state of the peer is unknown, so the next one begins with a new
// connection: a peer that stops at one case also fails the following ones.
//
// Timing is judged by the peer's own clock: a request for "one slot ahead" is sent between two node
// syncs, whose answers give the slot in which the PNF received it. If they differ the machine was
// slow, and the case is repeated; a faulty peer fails each time.
//
// Source: SCF 222.10.02 and SCF 225, as implemented by OpenAirInterface develop 2025-09.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// Peer is what is tested.
type Peer string

// The peers.
const (
	PNF Peer = "pnf"
	VNF Peer = "vnf"
)

// Config selects the peer under test and the cases.
type Config struct {
	Peer    Peer
	Profile nfapi.Profile
	// Network of P5, one of [transport.Networks]; "": auto.
	Network string
	// SCTPUDPPort is the UDP port of network sctp-udp. 0: 9899, that of RFC 6951.
	SCTPUDPPort uint16
	// Address is host:port of P5: of a VNF under test where it listens, of a PNF under
	// test where it looks for its VNF, so where we listen.
	Address string
	// From is where a PNF under test connects from; none: anywhere.
	From []netip.Prefix
	// P7 is where we have P7; not set: any port of the address that P5 has.
	P7 netip.AddrPort
	// Cell is what a PNF under test is configured with.
	Cell cell.Config
	// Timeout is how long an answer may take. 0: 2 s.
	Timeout time.Duration
	// Connect is how long the peer may take to be there, at first and after a connection
	// was lost. 0: 30 s.
	Connect time.Duration
	// Patience is how long a VNF may take to act when no answer came, or an error. 0:
	// 15 s.
	Patience time.Duration
	// Seed of what is random; Fuzz is how many messages of each kind. 0: 200.
	Seed uint64
	Fuzz int
	// Cases is a pattern of names in the syntax of [path.Match], but * also matches /; "": all.
	Cases string

	// Begin, if not nil, is called at the start of each case.
	Begin func(done, all int, name string)
	// Listening, if not nil, is called with the P5 address when a PNF may connect.
	Listening func(netip.AddrPort)

	taint taint
}

// taint, in tests, makes a peer wrong: what comes from it goes through these first.
type taint struct {
	p5 func(h *nfapi.Header, m nfapi.Message) []nfapi.Message
	p7 func(h *nfapi.Header, m nfapi.Message) []nfapi.Message
	// sent and answered are what reaches a peer of what is sent to it over P7, and over
	// P5 to a VNF.
	sent     func(m nfapi.Message) nfapi.Message
	answered func(m nfapi.Message) nfapi.Message
}

// ErrConfig is wrapped by errors about what a [Config] says.
var ErrConfig = errors.New("conformance")

// Case is one test.
type Case struct {
	Name string `json:"name"`
	Says string `json:"says"` // what a peer has to do
}

// Cases returns all cases for a peer, in their order.
func Cases(p Peer) []Case {
	var all []Case
	if p == PNF {
		for _, c := range pnfCases() {
			all = append(all, c.Case)
		}
		return all
	}
	for _, c := range vnfCases() {
		all = append(all, c.Case)
	}
	return all
}

// Match reports whether a case's name fits a pattern.
//
// Errors: [path.ErrBadPattern].
func Match(pattern, name string) (bool, error) {
	if pattern == "" {
		return true, nil
	}
	flat := func(s string) string {
		b := []byte(s)
		for i := range b {
			if b[i] == '/' {
				b[i] = 0
			}
		}
		return string(b)
	}
	return path.Match(flat(pattern), flat(name))
}

func (c Config) completed() (Config, error) {
	setDefault(&c.Timeout, 2*time.Second)
	setDefault(&c.Connect, 30*time.Second)
	setDefault(&c.Patience, 15*time.Second)
	if c.Fuzz == 0 {
		c.Fuzz = 200
	}
	if c.Peer != PNF && c.Peer != VNF {
		return c, fmt.Errorf("%w: peer %q is neither pnf nor vnf", ErrConfig, c.Peer)
	}
	if c.Peer == PNF && c.Cell.TDD.IsZero() {
		return c, fmt.Errorf("%w: the cell has no tdd table", ErrConfig)
	}
	some := false
	for _, one := range Cases(c.Peer) {
		ok, err := Match(c.Cases, one.Name)
		if err != nil {
			return c, fmt.Errorf("%w: cases %q: %w", ErrConfig, c.Cases, err)
		}
		some = some || ok
	}
	if !some {
		return c, fmt.Errorf("%w: no case fits %q", ErrConfig, c.Cases)
	}
	c.Cell.TimingInfo = cell.TimingInfo{Periodic: true, Aperiodic: true, Period: timingPeriod}
	if c.Cell.TimingWindow == 0 {
		c.Cell.TimingWindow = cell.TimingWindowDefault
	}
	return c, nil
}

// timingPeriod is the requested period of TIMING_INFO, in slots.
const timingPeriod = 32

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// bench is one half of the split, as cases use it.
type bench interface {
	cases() []Case
	// perform runs a case; it may panic with [stop].
	perform(i int, t *trial)
	// renew has the next case begin with a new connection.
	renew()
	close()
}

// Run goes through the cases. A case that failed is no error, it is in the report. If
// ctx ends, the cases that are left were not run.
//
// Errors: [ErrConfig]; those of our sockets.
func Run(ctx context.Context, c Config) (*Report, error) {
	c, err := c.completed()
	if err != nil {
		return nil, err
	}
	var b bench
	if c.Peer == PNF {
		b, err = newPNFBench(ctx, &c)
	} else {
		b, err = newVNFBench(ctx, &c)
	}
	if err != nil {
		return nil, err
	}
	defer b.close()
	defer clock.Urgent()() // requests are to be sent in slots
	r := &Report{
		Schema: Schema, Peer: c.Peer, Address: c.Address, Profile: c.Profile.String(), Seed: c.Seed, Began: time.Now().UTC(),
	}
	wanted := 0
	for _, one := range b.cases() {
		if ok, _ := Match(c.Cases, one.Name); ok {
			wanted++
		}
	}
	gone := 0 // cases in a row to which the peer did not come
	for i, one := range b.cases() {
		if ok, _ := Match(c.Cases, one.Name); !ok {
			continue
		}
		if c.Begin != nil {
			c.Begin(len(r.Results), wanted, one.Name)
		}
		t := &trial{ctx: ctx, config: &c, result: Result{Case: one}}
		t.run(b, i, gone)
		if gone++; !t.absent {
			gone = 0
		}
		r.add(t.result)
	}
	r.Took = time.Since(r.Began)
	return r, nil
}

// maxGone is to how many cases in a row a peer may not come before the others are left
// out.
const maxGone = 2

// newP5Config is how P5 is carried.
func (c *Config) p5() transport.P5Config {
	return transport.P5Config{Network: c.Network, Profile: c.Profile, Address: c.Address, Allow: c.From, EncapsulationPort: c.SCTPUDPPort}
}
