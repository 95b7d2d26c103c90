package xdp

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
)

// cpuBed sends packets of the benchmarks' sessions on two CPUs at once.
type cpuBed struct {
	*bed
	h    *harness.Harness
	cpus []int
}

func openCPUs(t *testing.T, b *bed, clock *ebpf.Map) cpuBed {
	t.Helper()
	h, err := harness.OpenClock(clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	cpus, err := harness.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	return cpuBed{b, h, cpus}
}

// cpuOctets is how long these user packets are.
const cpuOctets = 1600

// load sends so many packets on each CPU, of so many sessions at random.
func (b cpuBed) load(t *testing.T, sessions uint32, runs int, tick time.Duration) {
	t.Helper()
	up, _ := conformance.BenchFramesOf(cpuOctets - 28)
	err := b.h.Load(harness.Load{
		Program: b.objs.UpfGtpuXdp, Runs: runs, Tick: tick,
		Packet: harness.Packet{
			Frame: up, Sessions: sessions, Random: sessions > 1, TEIDAt: upTEIDAt, AddressAt: upAddressAt, TEID: benchTEID, Address: benchAddress,
		},
	}, b.cpus)
	if err != nil {
		t.Fatal(err)
	}
}

// one sends one packet and reports whether it passed.
func (b cpuBed) one(t *testing.T) bool {
	t.Helper()
	up, _ := conformance.BenchFramesOf(cpuOctets - 28)
	binary.BigEndian.PutUint32(up[upTEIDAt:], benchTEID)
	binary.BigEndian.PutUint32(up[upAddressAt:], benchAddress)
	action, err := b.objs.UpfGtpuXdp.Run(&ebpf.RunOptions{Data: up})
	if err != nil {
		t.Fatal(err)
	}
	return action == xdpRedirect
}

// install installs session i with these QERs and URRs for its uplink packets.
func (b cpuBed) install(t *testing.T, i uint32, list bool, qers []*api.QER, urrs []*api.URR) *api.Session {
	t.Helper()
	peer := conformance.GNBAddress.As4()
	s := benchSession(i, binary.BigEndian.Uint32(peer[:]))
	s.Qers, s.Urrs = qers, urrs
	up := s.Rules[0]
	up.QerIds, s.Rules[1].QerIds = nil, nil
	for _, q := range qers {
		up.QerIds = append(up.QerIds, q.GetId())
	}
	for _, u := range urrs {
		up.UrrIds = append(up.UrrIds, u.GetId())
	}
	if list {
		up.Detect.Filters = []*api.Filter{{Remote: &api.Prefix{Address: make([]byte, 4)}}}
	}
	apply(t, b.bed, s)
	return s
}

// uplink returns how many packets the uplink PDRs of the first sessions forwarded.
func (b cpuBed) uplink(t *testing.T, sessions uint32) (packets uint64) {
	t.Helper()
	for i := range sessions {
		u, err := b.Usage(uint64(i) + 1)
		if err != nil {
			t.Fatal(err)
		}
		packets += u.GetRules()[0].GetPackets()
	}
	return packets
}

// clockedCPUs is a bed whose clock goes on by each packet: a test takes the same time
// whatever else the machine does meanwhile.
type clockedCPUs struct {
	cpuBed
	clocked exactBed
}

// cost is for how long a packet uses a rate; of those in use here it is whole.
func cost(bps uint64) time.Duration { return time.Duration(cpuOctets * 8e9 / bps) }

// most is how many packets pass a meter that is offered more than it lets through all
// the time: those of the burst, of the rate, and the one that exceeds both.
func most(bps uint64, burst, time time.Duration) uint64 { return uint64((burst+time)/cost(bps)) + 1 }

// near reports whether n is want, or off by as many packets as are under way at once.
func (b cpuBed) near(n, want uint64) bool {
	under := uint64(len(b.cpus))
	return n+under >= want && n <= want+under
}

// oneMeter: two CPUs take together what one would. All of it is less than the second
// after which a packet whose clock has stood still meanwhile, as when its CPU is taken
// away, may find the meter too far ahead to be of its time (METER_AHEAD).
func (b clockedCPUs) oneMeter(t *testing.T) {
	const runs = 15_000
	for _, bps := range []uint64{200_000_000, 1_000_000_000, 100_000_000_000} {
		for _, list := range []bool{false, true} {
			b.cfg.MeterBurst = 100 * cost(bps)
			b.install(t, 0, list, []*api.QER{{Id: 1, UplinkMbrBps: bps}}, nil)
			begin, tick := b.clocked.read(), cost(bps)/3
			b.load(t, 1, runs, tick)
			want := most(bps, b.cfg.MeterBurst, time.Duration(b.clocked.read()-begin)-tick)
			if got := b.uplink(t, 1); !b.near(got, want) {
				t.Errorf("%d bit/s, list %v: %d packets passed, want %d", bps, list, got, want)
			}
			remove(t, b.bed, 1)
		}
	}
}

// twoMeters: of two meters the second stops packets that the first would take, and
// takes nothing of the first, whatever other CPU was faster. Afterwards the first has
// all that did not pass.
func (b clockedCPUs) twoMeters(t *testing.T) {
	const runs, wide, narrow = 3_000, 12_500_000_000, 10_000_000_000
	b.cfg.MeterBurst = 1000 * cost(narrow)
	for _, list := range []bool{false, true} {
		for range 5 {
			b.install(t, 0, list, []*api.QER{{Id: 1, UplinkMbrBps: wide}, {Id: 2, UplinkMbrBps: narrow}}, nil)
			begin, tick := b.clocked.read(), cost(narrow)/3
			b.load(t, 1, runs, tick)
			took := time.Duration(b.clocked.read()-begin) - tick
			if got, want := b.uplink(t, 1), most(narrow, b.cfg.MeterBurst, took); !b.near(got, want) {
				t.Errorf("list %v: %d packets passed both, want %d", list, got, want)
			}
			b.install(t, 0, list, []*api.QER{{Id: 1, UplinkMbrBps: wide}}, nil)
			for b.one(t) {
			}
			if got, want := b.uplink(t, 1), most(wide, b.cfg.MeterBurst, took); !b.near(got, want) {
				t.Errorf("list %v: %d packets passed the first in all, want %d", list, got, want)
			}
			remove(t, b.bed, 1)
		}
	}
}

// sharedMeter: the sessions of a slice have one rate together.
func (b clockedCPUs) sharedMeter(t *testing.T) {
	const sessions, runs, bps = 1000, 15_000, 10_000_000_000
	b.cfg.MeterBurst = 100 * cost(bps)
	for i := range uint32(sessions) {
		b.install(t, i, i%2 == 0, []*api.QER{{Id: 1, UplinkMbrBps: bps, Shared: 7}}, nil)
		defer remove(t, b.bed, uint64(i)+1)
	}
	begin, tick := b.clocked.read(), cost(bps)/3
	b.load(t, sessions, runs, tick)
	want := most(bps, b.cfg.MeterBurst, time.Duration(b.clocked.read()-begin)-tick)
	if got := b.uplink(t, sessions); !b.near(got, want) {
		t.Errorf("%d packets passed, want %d", got, want)
	}
}

// TestTrueClock: by the clock of the kernel two CPUs take together what the rate has,
// between two packets that were refused: then the meter was full. How long it takes to
// send them does not matter, as the time of both is known from before and behind. The rate
// is so low that also a machine with other work sends more: else none is refused.
func TestTrueClock(t *testing.T) {
	const bps, runs = 10_000_000, 100_000
	b := openCPUs(t, openConfig(t, Config{MaxSessions: conformance.MaxSessions, MeterBurst: 10 * time.Second}, exactPorts()), nil)
	b.install(t, 0, false, []*api.QER{{Id: 1, UplinkMbrBps: bps}}, nil)
	refused := func() (before, after time.Duration) {
		for passed := true; passed; after = time.Duration(monotonic()) {
			before = time.Duration(monotonic())
			passed = b.one(t)
		}
		return before, after
	}
	b.load(t, 1, runs, 0) // until the burst, of 7812 packets, is used up
	begin, begun := refused()
	had := b.uplink(t, 1)
	b.load(t, 1, runs, 0)
	end, ended := refused()
	passed := b.uplink(t, 1) - had
	if least, most := uint64((end-begun)/cost(bps)), uint64((ended-begin)/cost(bps))+1; passed+1 < least || passed > most {
		t.Errorf("%d packets passed in %v to %v, want %d to %d", passed, end-begun, ended-begin, least, most)
	}
	t.Logf("%d packets passed in %v to %v", passed, end-begun, ended-begin)
}

// usage: what two CPUs count is what was forwarded, to the octet, in every URR.
func (b cpuBed) usage(t *testing.T) {
	const runs = 30_000
	all := uint64(runs * len(b.cpus))
	for _, urrs := range [][]*api.URR{{{Id: 1}}, {{Id: 1}, {Id: 2, BeforeEnforcement: true}, {Id: 3, Quota: &api.Volume{Total: 1 << 60}}}} {
		b.install(t, 0, len(urrs) > 1, nil, urrs)
		b.load(t, 1, runs, 0)
		u, err := b.Usage(1)
		if err != nil {
			t.Fatal(err)
		}
		if r := u.GetRules()[0]; r.GetPackets() != all || r.GetOctets() != all*cpuOctets {
			t.Errorf("the PDR counted %d packets, %d octets; %d were sent", r.GetPackets(), r.GetOctets(), all)
		}
		for _, c := range u.GetUrrs() {
			if c.GetUplinkPackets() != all || c.GetUplinkOctets() != all*cpuOctets {
				t.Errorf("URR %d counted %d packets, %d octets; %d were sent", c.GetUrrId(), c.GetUplinkPackets(), c.GetUplinkOctets(), all)
			}
		}
		remove(t, b.bed, 1)
	}
}

// quota: a quota lets no more through than the packets that are under way when it is
// reached, one for each CPU; a threshold is noted as exactly; each is told of once.
func (b cpuBed) quota(t *testing.T) {
	const runs, threshold, quota = 2_000, 500*cpuOctets - 1, 1000*cpuOctets + 1
	under := uint64(len(b.cpus)-1) * cpuOctets
	for i := range 20 {
		b.install(t, 0, i%2 == 0, nil, []*api.URR{{Id: 1, Threshold: &api.Volume{Total: threshold}, Quota: &api.Volume{Total: quota}}})
		b.load(t, 1, runs, 0)
		u, err := b.Usage(1)
		if err != nil {
			t.Fatal(err)
		}
		r, c := u.GetRules()[0], u.GetUrrs()[0]
		if n := c.GetUplinkOctets(); n < quota || n >= quota+cpuOctets+under || r.GetOctets() != n {
			t.Errorf("%d octets of a quota of %d; the PDR forwarded %d", n, quota, r.GetOctets())
		}
		if n := c.GetReachedUplinkOctets(); n < threshold || n >= threshold+cpuOctets+under {
			t.Errorf("%d octets when the threshold of %d was reached", n, threshold)
		}
		b.expect(t, api.EventKind_VOLUME_THRESHOLD, api.EventKind_VOLUME_QUOTA)
		remove(t, b.bed, 1)
	}
}

// expect takes these events, of session 1 and in this order.
func (b cpuBed) expect(t *testing.T, kinds ...api.EventKind) {
	t.Helper()
	over, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, want := range kinds {
		if e, err := b.Next(over); err != nil || e.GetKind() != want || e.GetSeid() != 1 {
			t.Fatalf("event %v, %v; want %v", e, err, want)
		}
	}
}
