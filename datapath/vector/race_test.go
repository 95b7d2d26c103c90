package vector

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// arrivals is what the gNB of [TestChangeUnderTraffic] gets of two flows.
type arrivals struct {
	t       *testing.T
	mu      sync.Mutex
	last    [2]uint32 // number of the last packet of each flow
	all     int
	ended   map[uint32]bool // tunnels
	markers int
}

// take checks what arrives, in its order.
func (a *arrivals) take(out []*Packet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range out {
		h, err := gtpu.Parse(p.Octets())
		if err != nil {
			a.t.Errorf("%x: %v", p.Octets(), err)
			continue
		}
		if h.Type() == gtpu.EndMarker {
			a.ended[h.TEID()] = true
			a.markers++
			continue
		}
		if h.TEID()&0x3f != uint32(p.DSCP) || p.Outer.TEID != h.TEID() || a.ended[h.TEID()] {
			a.t.Errorf("TEID %#x with DSCP %d and that of %#x; ended: %v", h.TEID(), p.DSCP, p.Outer.TEID, a.ended[h.TEID()])
		}
		user := p.Octets()[len(h):]
		flow, number := user[21], binary.BigEndian.Uint32(user[28:])
		if number != a.last[flow]+1 {
			a.t.Errorf("flow %d: packet %d behind %d", flow, number, a.last[flow])
		}
		a.last[flow] = number
		a.all++
	}
}

// send lets packets of a flow come until done is closed, and returns how many.
func (a *arrivals) send(e *Engine, flow byte, done chan struct{}) uint32 {
	_, octets := userPackets()
	w, number := e.NewWorker(), uint32(0)
	var in []*Packet
	for range 32 {
		in = append(in, packetOf(octets))
	}
	for {
		select {
		case <-done:
			return number
		default:
		}
		for _, p := range in {
			number++
			p.Start, p.End, p.Network = Headroom, Headroom+len(octets), 1
			user := p.Octets()
			user[8] = 64
			binary.BigEndian.PutUint32(user[16:], benchAddress)
			user[21] = flow
			binary.BigEndian.PutUint32(user[28:], number)
		}
		w.Run(in, a.take)
	}
}

// TestChangeUnderTraffic: while rules change, buffer and release under two workers, no
// packet is treated by half a rule, lost or overtaken, and each End Marker comes behind
// the last packet of its tunnel.
func TestChangeUnderTraffic(t *testing.T) {
	a := &arrivals{t: t, ended: map[uint32]bool{}}
	unlimited := stages.DefaultBufferLimits
	unlimited.Packets, unlimited.Octets, unlimited.TotalOctets = 1<<20, 1<<30, 1<<30
	b := openBed(t, func(_ *bed, c *Config) { c.Send, c.Now, c.Buffer = a.take, nil, unlimited })
	peer := conformance.GNBAddress.As4()
	apply := func(teid uint32, action api.Action, end ...*api.EndMarker) *api.OuterHeaderCreation {
		s := benchSession(0, limited{urr: true, mbr: true})
		to, dscp := &api.OuterHeaderCreation{Teid: teid, Ipv4: binary.BigEndian.Uint32(peer[:])}, teid&0x3f
		s.Rules[1].Forward.OuterHeaderCreation, s.Rules[1].Forward.Dscp, s.Rules[1].Forward.Action = to, &dscp, action
		if action != api.Action_FORW {
			s.Rules[1].Forward.OuterHeaderCreation = nil
		}
		if err := b.Apply(context.Background(), &api.Change{Seid: 1, Session: s, EndMarkers: end}); err != nil {
			t.Fatal(err)
		}
		return to
	}
	apply(0x100, api.Action_FORW)
	done, sent := make(chan struct{}), [2]uint32{}
	var workers sync.WaitGroup
	for flow := range sent {
		workers.Go(func() { sent[flow] = a.send(b.Engine, byte(flow), done) })
	}
	const changes = 300
	for teid, last := uint32(0x101), (*api.OuterHeaderCreation)(nil); teid < 0x101+changes; teid++ {
		if teid%4 == 0 {
			apply(teid, api.Action_BUFF)
			time.Sleep(100 * time.Microsecond)
		}
		if last == nil {
			last = apply(teid, api.Action_FORW)
		} else {
			last = apply(teid, api.Action_FORW, &api.EndMarker{Tunnel: last})
		}
	}
	close(done)
	workers.Wait()
	if a.all != int(sent[0]+sent[1]) || a.last != sent {
		t.Errorf("%d packets came, the last ones %d; sent %d", a.all, a.last, sent)
	}
	if a.markers != changes-1 {
		t.Errorf("%d End Markers, want %d", a.markers, changes-1)
	}
	usage, err := b.Usage(1)
	if err != nil || usage.GetUrrs()[0].GetDownlinkPackets() != uint64(a.all) || usage.GetRules()[1].GetPackets() != uint64(a.all) {
		t.Errorf("usage %v, %v; want %d packets", usage, err, a.all)
	}
	if drops := b.counted(true); drops[datapath.DropMBR.String()] > 0 {
		t.Errorf("dropped: %v", drops)
	}
}
