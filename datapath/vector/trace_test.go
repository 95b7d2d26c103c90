package vector

import (
	"bytes"
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

var everything = datapath.TraceFilter{All: true, Sample: 1, Rate: datapath.MaxTraceRate, Snap: datapath.MaxTraceSnap}

func (b *bed) startTrace(t testing.TB, f datapath.TraceFilter) datapath.Trace {
	t.Helper()
	x, err := b.Trace(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// nextPacket returns what was traced of a packet that has been treated; nil: nothing.
func nextPacket(x datapath.Trace) *datapath.TracePacket {
	select {
	case p := <-x.Packets():
		return p
	default:
		return nil
	}
}

// checkTraced: a packet that has been treated is traced as what it was and what became
// of it, whole.
func (b *bed) checkTraced(t testing.TB, message []byte, got conformance.Outcome) {
	t.Helper()
	var p *datapath.TracePacket
	left := map[string]bool{}
	for x := nextPacket(b.traced); x != nil; x = nextPacket(b.traced) {
		came := string(x.Arrived.Data)
		left[string(x.Left.Data)] = true
		switch {
		case x.Slow, x.Reason == datapath.PassSignalling && !bytes.HasSuffix(x.Arrived.Data, message): // besides
		case p != nil && came == string(p.Left.Data): // at an F-TEID of our own
			x.Arrived = p.Arrived
			p = x
		case left[came] && came != "": // there, too, besides
		case p != nil:
			t.Errorf("a packet is traced twice: %+v", x)
		default:
			p = x
		}
	}
	b.now += 1e6 // the rate of a trace is by this clock
	switch {
	case got.Reason == datapath.PassHost:
		if p != nil {
			t.Errorf("nobody's packet is traced: %+v", p)
		}
		return
	case p == nil:
		t.Errorf("not traced: %x, %v", message, got.Reason)
		return
	}
	clip := func(b []byte) []byte { return b[:min(len(b), datapath.MaxTraceSnap)] }
	if p.Reason != got.Reason || !bytes.Equal(p.Left.Data, clip(got.Packet)) || p.Left.Octets != len(got.Packet) {
		t.Errorf("traced %v, %d octets: %x\nbut it was %v, %d octets: %x", p.Reason, p.Left.Octets, p.Left.Data, got.Reason, len(got.Packet), got.Packet)
	}
	if len(p.Arrived.Data) != min(p.Arrived.Octets, datapath.MaxTraceSnap) || p.Arrived.Octets <= datapath.MaxTraceSnap && !bytes.HasSuffix(p.Arrived.Data, message) {
		t.Errorf("traced as it came %d octets: %x\nwant at its end: %x", p.Arrived.Octets, p.Arrived.Data, message)
	}
}

// TestTraceVector: a whole vector is traced, each packet as itself, in order, although
// it fills what leaves; and what nobody asks for is not.
func TestTraceVector(t *testing.T) {
	b := withSession(t, func(*api.Session) {})
	up, _ := userPackets()
	stream := newStream(up, true, 1)
	in := stream.next(0)
	x := b.startTrace(t, everything)
	teid := uint32(0)
	var sent [][]byte
	b.worker.Run(in, func(out []*Packet) {
		for _, p := range out {
			sent = append(sent, wire(p))
		}
	})
	for i := range in {
		p := nextPacket(x)
		if p == nil {
			t.Fatalf("packet %d of %d is not traced; counts %+v", i, len(in), x.Counts())
		}
		if p.Reason != datapath.ReasonNone || p.SEID != 1 || p.PDRID == 0 || p.TEID == 0 || p.Key.TEID != p.TEID || !bytes.Equal(p.Left.Data, sent[i]) {
			t.Errorf("packet %d: %+v, want it to leave as %x", i, p, sent[i])
		}
		teid = p.TEID
	}
	unseen := everything
	unseen.All, unseen.Reasons = false, []datapath.Reason{datapath.DropTxFull}
	if _, err := b.Trace(unseen); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of what is not seen: %v", err)
	}
	if c := x.Counts(); c != (datapath.TraceCounts{Wanted: uint64(len(in))}) {
		t.Errorf("%+v, want %d", c, len(in))
	}
	other := b.startTrace(t, datapath.TraceFilter{TraceTargets: datapath.TraceTargets{TEIDs: []uint32{teid + 1}}, Sample: 1, Rate: 1000, Snap: 100})
	x.Close()
	b.worker.Run(stream.next(0), stream.take)
	if p := nextPacket(other); p != nil || other.Counts() != (datapath.TraceCounts{}) {
		t.Errorf("of another TEID: %+v, %+v", p, other.Counts())
	}
	if err := other.Retarget(datapath.TraceTargets{TEIDs: []uint32{teid}}); err != nil {
		t.Fatal(err)
	}
	b.worker.Run(stream.next(0), stream.take)
	if p := nextPacket(other); p == nil || p.TEID != teid || len(p.Arrived.Data) != 100 || p.Arrived.Octets <= 100 {
		t.Errorf("retargeted: %+v", p)
	}
}

// TestTraceBuffer: what waits for a UE is seen when it comes and when it leaves, and an
// Echo Request with its answer.
func TestTraceBuffer(t *testing.T) {
	s := conformance.Sessions()[0]
	b := openBed(t)
	x := b.startTrace(t, everything)
	forward := s.Rules[1].Forward
	s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF}
	apply := func() {
		t.Helper()
		if err := b.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
			t.Fatal(err)
		}
	}
	apply()
	_, down := conformance.BenchFrames()
	b.Frame(t, conformance.N6, down)
	if p := nextPacket(x); p == nil || p.Reason != datapath.PassBuffer || p.SEID != s.GetSeid() || p.PDRID != s.Rules[1].GetPdrId() || p.Slow {
		t.Fatalf("as it came: %+v", p)
	}
	s.Rules[1].Forward = forward
	apply()
	p := nextPacket(x)
	if p == nil || p.Reason != datapath.ReasonNone || !p.Slow || p.Arrived.Octets != 0 || p.SEID != s.GetSeid() {
		t.Fatalf("out of the buffer: %+v", p)
	}
	if sent := b.Sent(t); len(sent) != 1 || !bytes.Equal(sent[0], p.Left.Data) {
		t.Errorf("traced %x, sent %x", p.Left.Data, sent)
	}
}
