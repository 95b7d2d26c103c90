package afxdp

import (
	"maps"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// onDevice returns the device on which a frame of the tables arrives.
func (b *bed) onDevice(port conformance.Port, frame []byte) string {
	switch port {
	case conformance.N3:
		if len(frame) >= 6 && [6]byte(frame) == conformance.N9MAC {
			return "n9"
		}
		return "n3"
	case conformance.N6LAN:
		return "lan"
	}
	if device := conformance.DataNetworks.Networks[port-conformance.N6].Device; device != "n6" || !b.stick {
		return device
	}
	return "n3"
}

// counts returns all counters that a frame may move.
func (b *bed) counts(t testing.TB) map[string]uint64 {
	t.Helper()
	drops, err := b.Drops()
	check(t, err)
	passes, err := b.Passes()
	check(t, err)
	for name, n := range passes {
		drops[name] = n
	}
	for _, r := range []datapath.Reason{datapath.DropBufferAge, datapath.DropBufferEnd, datapath.DropCopy, datapath.PassUnresolved, datapath.PassTooBig} {
		delete(drops, r.String())
	}
	return drops
}

// taken returns how many frames came to an end: at a worker, or with the kernel.
func (b *bed) taken(t testing.TB) (worker, kernel uint64) {
	t.Helper()
	for _, w := range b.machine.Load().workers {
		worker += w.treated.Load()
	}
	passed, err := b.tables.passed()
	check(t, err)
	for _, n := range passed {
		kernel += n
	}
	return worker, kernel
}

// Frame implements [conformance.Datapath].
func (b *bed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	b.settleWire(t)
	device := b.onDevice(port, frame)
	before, transmitted := b.counts(t), b.transmitted(t)
	worker, kernel := b.taken(t)
	pieces := b.onWire(port, frame)
	for _, piece := range pieces {
		if len(piece) > inet.LenEthernet+conformance.MTU+inet.LenTag {
			t.Skipf("a frame of %d octets does not come over the links of this bed", len(piece))
		}
		check(t, unix.Sendto(b.catcher, piece, 0, &unix.SockaddrLinklayer{Ifindex: b.devices[device].other}))
	}
	if len(pieces) > 1 {
		before[datapath.PassFragment.String()] += uint64(len(pieces))
	}
	byWorker, asked := len(pieces) > 1, b.asked // behind the GTP-U socket
	b.await(t, "a frame to be treated", func() bool {
		w, k := b.taken(t)
		byWorker = byWorker || w > worker
		return w+k >= worker+kernel+uint64(len(pieces))
	})
	if !byWorker { // what the kernel says is its own
		b.settleWire(t)
		return conformance.Outcome{Reason: b.moved(t, before)}
	}
	var sent []caughtFrame
	reason, patience := datapath.ReasonNone, time.Now().Add(time.Second)
	b.await(t, "what becomes of a frame", func() bool {
		sent = append(sent, b.settleWire(t)...)
		before[datapath.PassHost.String()] += b.asked - asked
		asked = b.asked
		reason = b.moved(t, before)
		if len(sent) == 0 && reason == datapath.ReasonNone && time.Now().After(patience) && b.transmitted(t) > transmitted {
			b.before++
			b.skip(t, unseen)
		}
		return len(sent) > 0 || reason != datapath.ReasonNone
	})
	if reason == datapath.ReasonNone {
		if sent[0].isCut() {
			b.settleWire(t)
			b.skip(t, "the kernel has cut it outside, as it does: from the port of the GTP-U socket, with an Identification")
		}
		b.add(sent[1:])
		return sent[0].outcome()
	}
	b.add(append(sent, b.settleWire(t)...))
	return conformance.Outcome{Reason: reason}
}

// unseen is why a frame that a device of the UPF has sent is not caught.
const unseen = "the kernel frees a tagged frame without octets before a socket sees it"

// skip ends a case that this bed cannot show. What it has set up goes.
func (b *bed) skip(t testing.TB, why string) {
	t.Helper()
	for seid := range maps.Clone(b.held) {
		check(t, b.Apply(t.Context(), &api.Change{Seid: seid}))
	}
	t.Skip(why)
}

// moved returns the reason whose counter has moved.
func (b *bed) moved(t testing.TB, before map[string]uint64) datapath.Reason {
	t.Helper()
	found := datapath.ReasonNone
	after := b.counts(t)
	for _, r := range datapath.Reasons() {
		if after[r.String()] == before[r.String()] {
			continue
		}
		if found != datapath.ReasonNone {
			t.Logf("%v and %v", found, r)
		}
		found = r
	}
	return found
}
