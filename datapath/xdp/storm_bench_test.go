package xdp_test

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
)

// BenchmarkStorm sends three packets to each of 100 000 idle UEs over real devices,
// and then lets all have them: how long until the event that pages a UE, how fast
// what waits is released, what is lost, and what it takes of memory. Packets come as
// fast as one socket sends; the first one of a UE raises the event.
func BenchmarkStorm(b *testing.B) {
	const sessions, each = 100_000, 3
	n := layNetwork(b, "xdp-storm100k")
	limits := stages.DefaultBufferLimits
	limits.TotalPackets, limits.TotalOctets, limits.Age = 1<<19, 256<<20, 5*time.Minute
	check(b, n.UPF.Do(func() (err error) {
		n.upf, err = xdp.New(xdp.Config{
			Endpoints: []datapath.Endpoint{{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()}},
			N6:        n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr()),
			Mode:      xdp.Native, MaxSessions: 1 << 17, Buffer: limits,
		})
		return err
	}))
	b.Cleanup(func() { check(b, n.upf.Close()) })
	peer := n.N3.Peer.Address.Addr()
	s := &stormed{network: n, sessions: sessions}
	n.gnb = listen(b, n.GNB, netip.AddrPortFrom(peer, 2152))
	n.apply(b, toGNB(dlTEID, peer))
	n.downlinkAny(b)
	s.applyAll(b, &api.Forward{Action: api.Action_BUFF, Notify: true})
	empty, rss := heap(), resident(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	paged := &pagedUEs{sent: make([]time.Time, sessions+2), delays: make([]time.Duration, 0, sessions)}
	go paged.listen(ctx, n.upf)
	for b.Loop() {
		took := s.sendEach(b, each, paged)
		full, fullRSS := heap(), resident(b)
		b.Logf("%d packets sent in %v; in the buffer %+v", sessions*each, took, n.upf.Buffered())
		buffered, _ := n.upf.Passes()
		begin := time.Now()
		s.applyAll(b, toGNB(dlTEID, peer))
		release := time.Since(begin)
		var left uint64
		for i := range sessions {
			u, err := n.upf.Usage(uint64(i) + 2)
			check(b, err)
			left += u.GetRules()[0].GetPackets()
		}
		drops, err := n.upf.Drops()
		check(b, err)
		b.Logf("dropped %v; %d of %d buffered packets released", positive(drops), left, buffered["buffer"])
		p50, p99, events := paged.percentiles()
		b.ReportMetric(float64(p50.Microseconds()), "us-event-p50")
		b.ReportMetric(float64(p99.Microseconds()), "us-event-p99")
		b.ReportMetric(float64(sessions-events), "UEs-not-told")
		b.ReportMetric(float64(sessions*each)/took.Seconds(), "arrivals/s")
		b.ReportMetric(float64(left)/release.Seconds(), "released/s")
		b.ReportMetric(sessions/release.Seconds(), "sessions/s")
		b.ReportMetric(float64(buffered["buffer"]-left), "lost")
		b.ReportMetric(float64(full-empty)/1e6, "MB-heap")
		b.ReportMetric(float64(fullRSS-rss)/1e6, "MB-resident")
		b.ReportMetric(float64(n.upf.MemoryOctets())/1e6, "MB-tables")
		b.ReportMetric(0, "ns/op")
	}
}

// pagedUEs is when the first packet to each UE was sent, and how long its event took.
type pagedUEs struct {
	mu     sync.Mutex
	sent   []time.Time // by SEID
	delays []time.Duration
}

func (p *pagedUEs) listen(ctx context.Context, d *xdp.Driver) {
	for {
		e, err := d.Next(ctx)
		if err != nil {
			return
		}
		if e.GetKind() != api.EventKind_DOWNLINK_DATA {
			continue
		}
		p.mu.Lock()
		p.delays = append(p.delays, time.Since(p.sent[e.GetSeid()]))
		p.mu.Unlock()
	}
}

func (p *pagedUEs) percentiles() (p50, p99 time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.delays)
	n = len(p.delays)
	return p.delays[n/2], p.delays[n*99/100], n
}

// sendEach sends so many packets to each UE, in turn, and waits until the last one
// is in the buffer, or lost.
func (s *stormed) sendEach(b *testing.B, each int, p *pagedUEs) time.Duration {
	b.Helper()
	conn := listen(b, s.DN, netip.AddrPortFrom(s.N6.Peer.Address.Addr(), dnPort+1))
	payload, begin := make([]byte, 72), time.Now()
	for i := range each * s.sessions {
		ue := i % s.sessions
		if i < s.sessions {
			p.mu.Lock()
			p.sent[ue+2] = time.Now()
			p.mu.Unlock()
		}
		_, err := conn.WriteToUDPAddrPort(payload, netip.AddrPortFrom(stormUE(ue), uePort))
		check(b, err)
	}
	took := time.Since(begin)
	for was := -1; was != s.upf.Buffered().Packets; time.Sleep(300 * time.Millisecond) {
		was = s.upf.Buffered().Packets
	}
	return took
}

// heap is what is in use of it, in octets.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// resident is the process's memory that is in the machine's, in octets: of tables
// that are mapped what was touched.
func resident(b *testing.B) int64 {
	b.Helper()
	var u unix.Rusage
	check(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Maxrss << 10
}
