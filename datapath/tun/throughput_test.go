package tun

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
)

// BenchmarkThroughput is what arrives per second of frames of 1400 octets that are offered
// at a rate, or as fast as there are CPUs for: through veth pairs, with the laboratory's
// generator and meter, one worker, by a ring and without.
//
//	kpps      of frames that arrive
//	loss/%    of those that were sent
//	cpu-ns    of this process for each that arrived: UPF, generator and what the kernel
//	          does for both while they call it
func BenchmarkThroughput(b *testing.B) {
	for _, c := range []Config{{}, {Ring: true}, {TAP: true}, {TAP: true, Ring: true}} {
		for _, direction := range []generator.Direction{generator.Uplink, generator.Downlink} {
			for _, sessions := range []int{1, 1000} {
				for _, rate := range []uint64{500_000, 0} {
					name := fmt.Sprintf("%s/ring %v/%v/%d/%d", c.name(), c.Ring, direction, sessions, rate)
					b.Run(name, func(b *testing.B) { throughput(b, c, direction, sessions, rate) })
				}
			}
		}
	}
}

func throughput(b *testing.B, cfg Config, direction generator.Direction, sessions int, rate uint64) {
	cfg.Workers, cfg.Pools = 1, []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10")}
	n := openNetwork(b, "tunrate", cfg)
	check(b, n.LeaveUDPWhole(false)) // the meter is to see each
	c := generator.Config{
		Link: n.N3, Direction: direction, Run: 7, Server: n.N6.Peer.Address.Addr(), PayloadOctets: 1400, OuterChecksum: true, Seed: 1,
	}
	m := meter.Config{Port: n.N6.Peer, N3: n.N3, N6: n.N6, Direction: direction, Run: 7, Streams: 1, Packets: true}
	if direction == generator.Downlink {
		c.Link, m.Port = n.N6, n.N3.Peer
	}
	c.Sessions = n.populate(b, sessions, direction)
	g, err := generator.New(c)
	check(b, err)
	defer g.Close()
	arrived, err := meter.Attach(m)
	check(b, err)
	defer arrived.Close()
	load := generator.Load{Rate: rate, Duration: 300 * time.Millisecond, CPU: generator.LastCPU()}
	_, err = g.Run(context.Background(), load)
	check(b, err)
	time.Sleep(50 * time.Millisecond)
	check(b, arrived.Reset())
	load.Duration = 2 * time.Second
	b.ResetTimer()
	before := cpuTime(b)
	sent, err := g.Run(context.Background(), load)
	check(b, err)
	b.StopTimer()
	time.Sleep(100 * time.Millisecond)
	spent := cpuTime(b) - before
	got, err := arrived.Read()
	check(b, err)
	s := got.Streams[0]
	if s.Received == 0 || s.MisdeliveredTotal() > 0 {
		drops, _ := n.upf.Drops()
		b.Errorf("%d frames of %d arrived, %d of them wrong; dropped: %v", s.Received, sent.Sent, s.MisdeliveredTotal(), drops)
	}
	b.ReportMetric(float64(s.Received)/sent.Elapsed.Seconds()/1000, "kpps")
	b.ReportMetric(100*float64(sent.Sent-s.Received)/float64(sent.Sent), "loss/%")
	b.ReportMetric(float64(spent)/float64(max(s.Received, 1)), "cpu-ns")
	b.ReportMetric(0, "ns/op")
}

// cpuTime is how long CPUs have run this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	check(b, unix.Getrusage(unix.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func feature(device, name string, on bool) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer tool.Close()
	return tool.Change(device, map[string]bool{name: on})
}

// populate installs sessions, and returns them as the generator and the meter want them.
func (n *network) populate(b *testing.B, sessions int, direction generator.Direction) []generator.Session {
	b.Helper()
	var all []generator.Session
	base := n.ue.As4()
	for i := range sessions {
		ue := netip.AddrFrom4([4]byte{base[0], base[1], byte((i + 1) >> 8), byte(i + 1)})
		seid := uint64(i + 1)
		check(b, n.upf.Apply(context.Background(), &api.Change{Seid: seid, Session: n.session(seid, ue, netip.Addr{})}))
		s := generator.Session{TEID: uint32(seid)<<8 | ulTEID, UE: ue, QFI: 9}
		if direction == generator.Downlink {
			s.TEID = uint32(seid)<<8 | dlTEID
		}
		all = append(all, s)
	}
	return all
}
