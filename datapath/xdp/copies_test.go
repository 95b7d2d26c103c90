package xdp

import (
	"context"
	"encoding/binary"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
)

// benchCopied is a session of the benchmarks with a copy of each uplink packet.
func benchCopied() *api.Session {
	peer := conformance.GNBAddress.As4()
	s := benchSession(0, binary.BigEndian.Uint32(peer[:]))
	s.Rules[0].Forward.Duplicates = []*api.Duplicate{{
		DestinationInterface: api.Interface_CP_FUNCTION,
		OuterHeaderCreation:  &api.OuterHeaderCreation{Teid: 0x701, Ipv4: binary.BigEndian.Uint32(peer[:])},
	}}
	return s
}

// TestCopyLayout: what Go reads is what the programs write.
func TestCopyLayout(t *testing.T) {
	var c upfCopy
	if got := unsafe.Offsetof(c.Frame); got != copyHeader {
		t.Errorf("frame at octet %d, want %d", got, copyHeader)
	}
	for name, at := range map[string][2]uintptr{
		"time": {unsafe.Offsetof(c.Time), 0}, "octets": {unsafe.Offsetof(c.Octets), 8}, "counter": {unsafe.Offsetof(c.Counter), 12},
		"serial": {unsafe.Offsetof(c.Serial), 16}, "tunnelled": {unsafe.Offsetof(c.Tunnelled), 20}, "ifindex": {unsafe.Offsetof(c.Ifindex), 24},
	} {
		if at[0] != at[1] {
			t.Errorf("%s at octet %d, want %d", name, at[0], at[1])
		}
	}
}

// copyBed is a bed with session [benchCopied], and an uplink frame of it.
func copyBed(t testing.TB) (*bed, []byte) {
	b := openBed(t, 64)
	s := benchCopied()
	if err := b.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Fatal(err)
	}
	up, _ := conformance.BenchFrames()
	binary.BigEndian.PutUint32(up[upTEIDAt:], benchTEID)
	binary.BigEndian.PutUint32(up[upAddressAt:], benchAddress)
	return b, up
}

// TestCopiesFull: if nobody reads the ring copies are lost and counted, and no
// packet is.
func TestCopiesFull(t *testing.T) {
	b, up := copyBed(t)
	full := func() uint64 { return b.programCounts(t)[datapath.DropCopyFull] }
	sent := uint64(0)
	for full() < 10 {
		for range 100 { // the program changes the frame: each run has one of its own
			run := ebpf.RunOptions{Data: up, DataOut: make([]byte, len(up)+80)}
			action, err := b.objs.UpfGtpuXdp.Run(&run)
			if err != nil || action != xdpRedirect {
				t.Fatalf("packet %d: action %d, %v", sent+1, action, err)
			}
			sent++
		}
	}
	u, err := b.Usage(1)
	if err != nil {
		t.Fatal(err)
	}
	if got := u.Rules[0].Packets; got != sent || u.Rules[0].DroppedPackets != 0 {
		t.Errorf("%d packets forwarded, %d dropped; want %d and none", got, u.Rules[0].DroppedPackets, sent)
	}
	lost := full()
	b.copyAll(t)
	if got := uint64(len(b.Sent(t))); got+lost != sent || lost == 0 {
		t.Errorf("%d copies sent, %d lost, of %d packets", got, lost, sent)
	}
}

// TestCopiesOfAnother: what waits in the ring when its PDR goes is not copied as
// another's that has the TEID, and what counted, after it.
func TestCopiesOfAnother(t *testing.T) {
	b, up := copyBed(t)
	run := ebpf.RunOptions{Data: up, DataOut: make([]byte, len(up)+80)}
	if _, err := b.objs.UpfGtpuXdp.Run(&run); err != nil {
		t.Fatal(err)
	}
	slot, _ := b.sessions.get(1).find(pdrCounter, 1)
	if err := b.Apply(t.Context(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	// A slot is not used again for a while; here it is at once.
	serial := b.lists.counters.slots[slot].Serial
	b.lists.freeCounters = newRuns(len(b.lists.counters.slots))
	other := benchCopied()
	other.Seid = 2
	if err := b.Apply(t.Context(), &api.Change{Seid: 2, Session: other}); err != nil {
		t.Fatal(err)
	}
	if now := b.lists.counters.slots[slot].Serial; now == serial || b.copied[slot] == nil {
		t.Errorf("slot %d has serial %d, and had %d; rules with copies: %v", slot, now, serial, b.copied)
	}
	b.copyAll(t)
	if sent := b.Sent(t); len(sent) != 0 {
		t.Errorf("%d copies for a PDR that the packet was not of: %x", len(sent), sent)
	}
	if got := b.slow.counts[datapath.DropCopy].Load(); got != 1 {
		t.Errorf("%d copies lost, want 1", got)
	}
}

// BenchmarkCopies is an uplink packet of a rule without and with a copy: while
// somebody empties the ring, and while it is full.
func BenchmarkCopies(b *testing.B) {
	for _, c := range []struct {
		name         string
		copied, read bool
	}{{"none", false, false}, {"read", true, true}, {"full", true, false}} {
		b.Run("copies="+c.name, func(b *testing.B) {
			bed, up := copyBed(b)
			if !c.copied {
				s := benchCopied()
				s.Rules[0].Forward.Duplicates = nil
				if err := bed.Apply(context.Background(), &api.Change{Seid: 1, Session: s}); err != nil {
					b.Fatal(err)
				}
			}
			plainN6(b, bed)
			if c.read {
				defer discardCopies(b, bed)()
			}
			measure(b, bed.objs.UpfGtpuXdp, harness.Packet{
				Frame: up, Sessions: 1, TEIDAt: upTEIDAt, AddressAt: upAddressAt, TEID: benchTEID, Address: benchAddress,
			})
			b.ReportMetric(float64(bed.programCounts(b)[datapath.DropCopyFull])/float64(max(b.N, 1000)), "lost/op")
		})
	}
}

// discardCopies empties the ring of copies until the function that it returns is
// called.
func discardCopies(b *testing.B, bed *bed) (stop func()) {
	b.Helper()
	ring, err := ringbuf.NewReader(bed.objs.Copies)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var record ringbuf.Record
		for ring.ReadInto(&record) == nil {
			if record.Remaining == 0 {
				time.Sleep(copyPause)
			}
		}
	}()
	return func() {
		if err := ring.Close(); err != nil {
			b.Error(err)
		}
		<-done
	}
}
