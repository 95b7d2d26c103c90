package xdp

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/exact"
)

// exactBed is a bed with a clock of its own, which nothing else goes by, and links
// that take what fits into the linear part of a frame that BPF_PROG_RUN makes.
type exactBed struct{ sharedBed }

const exactOctets = 3000 // of a user packet

func openExact(t testing.TB) exactBed { return openExactOn(t, HookXDP) }

func openExactOn(t testing.TB, hook Hook) exactBed {
	return exactBed{openShared(t, Config{Hook: hook, MaxSessions: 2048}, exactPorts())}
}

func exactPorts() *ports {
	p := bedPorts()
	for i := range p.n6 {
		p.n6[i].mtu = exactOctets
	}
	for i := range p.gtpu {
		p.gtpu[i].mtu = exactOctets + 64
	}
	return p
}

// Pass implements [exact.Datapath].
func (b exactBed) Pass(d time.Duration) { b.clock.Pass(d) }

// TestExact holds meters and URRs of the programs against exact arithmetic.
func TestExact(t *testing.T) {
	b := openExact(t)
	t.Run("meters", b.meters)
	cpus := openCPUs(t, b.bed, b.table)
	clocked := clockedCPUs{cpus, b}
	t.Run("a meter on two CPUs", clocked.oneMeter)
	t.Run("two meters on two CPUs", clocked.twoMeters)
	t.Run("a meter of 1000 sessions on two CPUs", clocked.sharedMeter)
	t.Run("usage on two CPUs", cpus.usage)
	t.Run("quota on two CPUs", cpus.quota)
	t.Run("quota while the ring of events is full", b.fullRing)
}

// TestExactTC: the same meters, asked for skbs.
func TestExactTC(t *testing.T) { openExactOn(t, HookTC).meters(t) }

// meters: what is longer than this bed's packets is charged by the same product, which
// has room for 65535 octets at 1 kbit/s.
func (b exactBed) meters(t *testing.T) {
	exact.Run(t, exact.Bed{MaxOctets: exactOctets, Open: func(_ testing.TB, burst time.Duration) exact.Datapath {
		b.cfg.MeterBurst = burst
		return b
	}})
	if b.slowFrames > 0 {
		t.Errorf("%d packets went through the slow path", b.slowFrames)
	}
}

// fullRing: while the ring of URR events is full, a quota stops packets none the
// later, and what was not told of is told when there is room, without another packet.
func (b exactBed) fullRing(t *testing.T) {
	noisy, stopped := conformance.Sessions()[0], benchSession(0, 1)
	noisy.Urrs, noisy.Rules[0].UrrIds = []*api.URR{{Id: 1}}, []uint32{1}
	up, _ := conformance.BenchFrames()
	stopped.Seid, stopped.Rules[0].UrrIds = 2, []uint32{5}
	stopped.Urrs = []*api.URR{{Id: 5, StartOfTraffic: true, Threshold: &api.Volume{Uplink: 1}, Quota: &api.Volume{Total: 92}}}
	for _, s := range []*api.Session{noisy, stopped} {
		apply(t, b.bed, s)
		defer remove(t, b.bed, s.GetSeid())
	}
	slot, _ := b.sessions.get(noisy.GetSeid()).find(urr, 1)
	noise := b.urrs.urr(slot)
	frame := bytes.Clone(up)
	binary.BigEndian.PutUint32(frame[upTEIDAt:], benchTEID)
	binary.BigEndian.PutUint32(frame[upAddressAt:], benchAddress)

	b.mu.Lock()                      // which the reader of the ring needs for every event
	for range 1 << 18 / 16 * 9 / 8 { // its octets, of which an event takes 16
		noise.SetLimits(&api.URR{})
		noise.SetLimits(&api.URR{StartOfTraffic: true})
		if _, err := b.objs.UpfGtpuXdp.Run(&ebpf.RunOptions{Data: up}); err != nil {
			t.Error(err)
			break
		}
	}
	full := b.urrs.slots[0].Urr.Flags != 0
	first, second := b.Frame(t, conformance.N3, frame), b.Frame(t, conformance.N3, frame)
	b.mu.Unlock()
	if !full || first.Reason != datapath.ReasonNone || second.Reason != datapath.DropQuota {
		t.Errorf("the ring is full: %v; a packet that reaches the quota: %v, the next: %v, want %v", full, first.Reason, second.Reason, datapath.DropQuota)
	}
	want := map[api.EventKind]bool{
		api.EventKind_START_OF_TRAFFIC: true, api.EventKind_VOLUME_THRESHOLD: true, api.EventKind_VOLUME_QUOTA: true,
	}
	over, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(want) > 0 {
		e, err := b.Next(over)
		if err != nil {
			t.Fatalf("%v did not come: %v", want, err)
		}
		if e.GetSeid() == stopped.GetSeid() && e.GetRuleId() == 5 {
			delete(want, e.GetKind())
		}
	}
}

func remove(t *testing.T, b *bed, seid uint64) {
	t.Helper()
	if err := b.Apply(context.Background(), &api.Change{Seid: seid}); err != nil {
		t.Error(err)
	}
}
