package random

import (
	"bytes"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Stages is the slow path in the bed of package conformance, with a clock of its own.
type Stages struct {
	*stages.UPF
	// OneDevice: what arrives on N3 and is no GTP-U arrives on N6, and the other
	// way round.
	OneDevice bool

	now     uint64
	sent    [][]byte
	matched stages.Frame // the last one
}

// NewStages returns one without sessions, of the bed's configuration as changed.
func NewStages(t testing.TB, change ...func(c *stages.Config)) *Stages {
	t.Helper()
	o := &Stages{now: 1e9}
	cfg := stages.Config{
		Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions,
		MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6, Advertise: &conformance.Advertise,
		Secret: conformance.Secret, Hosts: conformance.HostAddresses,
		Now:  func() uint64 { return o.now },
		Send: func(packet []byte) { o.sent = append(o.sent, bytes.Clone(packet)) },
	}
	for _, f := range change {
		f(&cfg)
	}
	o.UPF = stages.New(cfg)
	if err := o.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// Pass implements [Datapath].
func (o *Stages) Pass(d time.Duration) {
	o.now += uint64(d)
	o.Sweep()
}

// EventWait implements [Datapath].
func (o *Stages) EventWait() time.Duration { return 0 }

// Frame implements [conformance.Datapath].
func (o *Stages) Frame(_ testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	var out stages.Frame
	network := 1 + max(0, int(port-conformance.N6))
	switch {
	case port == lanPort:
		out = o.fromLAN(network, frame)
	case o.OneDevice:
		out = o.FromBoth(network, frame)
	case port == conformance.N3:
		out = o.FromN3(frame)
	default:
		out = o.FromNetwork(network, frame)
	}
	o.matched = out
	return conformance.Outcome{Reason: out.Reason, Packet: out.Packet}
}

// fromLAN is what becomes of a frame of the Ethernet data network: towards the first
// session to which it goes, and what goes to others leaves beside it.
func (o *Stages) fromLAN(network int, frame []byte) stages.Frame {
	all := o.FromEthernet(network, frame)
	for _, f := range all[1:] {
		if f.Reason == datapath.ReasonNone {
			o.sent = append(o.sent, f.Packet)
		}
	}
	return all[0]
}

// Sent implements [conformance.Datapath].
func (o *Stages) Sent(testing.TB) [][]byte {
	sent := o.sent
	o.sent = nil
	return sent
}

// Matched returns which PDR the last frame matched; 0: none.
func (o *Stages) Matched() (seid uint64, pdrID uint32) { return o.matched.SEID, o.matched.PDRID }

var _ Datapath = (*Stages)(nil)
