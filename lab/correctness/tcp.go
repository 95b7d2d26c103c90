package correctness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/tcp"
)

const (
	tcpWarmUp = 2 * time.Second // slow start, and until the burst is used up
	tcpMargin = time.Second     // at the end
)

func (b *bed) tcpTime() time.Duration { return tcpWarmUp + b.Duration + tcpMargin }

// tcp measures what TCP gets through each MBR: iperf3 from a UE behind package
// gnb to the data network, or back.
func (b *bed) tcp(ctx context.Context) error {
	if err := tcp.Available(); err != nil {
		return err
	}
	_ = b.sink.Close() // the gNB has its port now
	for _, d := range b.Directions {
		for _, kbps := range b.TCPKbps {
			b.step(fmt.Sprintf("MBR %d kbit/s %s, TCP", kbps, d), b.tcpTime())
			err := b.rate(TCP, fmt.Sprintf("MBR %d kbit/s %s, TCP", kbps, d), kbps, alikeTCP, func(mbr uint64) (report.RateFigure, error) {
				return b.tcpPassed(ctx, d, kbps, mbr)
			})
			if err != nil {
				return err
			}
		}
	}
	var err error
	b.sink, err = listenGTPU(b.topology)
	return err
}

// alikeTCP is alike of TCP, which takes more or less of the same path from one time to the next.
const alikeTCP = 0.7

// tcpPassed is what passes of TCP in a session that has this MBR; 0: none.
func (b *bed) tcpPassed(ctx context.Context, d report.Direction, kbps, mbr uint64) (f report.RateFigure, err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{mbr: mbr})
	if err != nil {
		return f, err
	}
	defer s.abandon(ctx)
	ue := tcp.UE{Address: s.ue, UplinkTEID: s.teid, DownlinkTEID: downlinkTEID, QFI: qfi}
	stop, err := tcp.Attach(ctx, b.topology, ue)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	flow, err := tcp.Start(ctx, b.topology, tcp.Flow{UE: ue, Downlink: d == report.Downlink, Duration: 2 * b.tcpTime()})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, flow.Kill()) }() // what it makes of itself at last is not asked for
	if err := pass(ctx, tcpWarmUp); err != nil {
		return f, err
	}
	octets := b.userOctets(d)
	before, begin, err := octets()
	if err != nil {
		return f, err
	}
	if err := pass(ctx, b.Duration); err != nil {
		return f, err
	}
	after, ended, err := octets()
	if err != nil {
		return f, err
	}
	f = report.RateFigure{
		Direction: d, Protocol: "TCP", AskedBPS: float64(kbps) * 1000, DurationNS: ended - begin, Reached: true,
		PassedBPS: 8e9 * float64(after-before) / float64(ended-begin),
	}
	f.ErrorPercent = 100 * (f.PassedBPS/f.AskedBPS - 1)
	_, err = s.delete(ctx)
	return f, err
}

// pass returns when so much time has passed.
//
// Errors: why ctx is done before.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// userOctets returns what reads how many octets of user packets have left the
// UPF, by the counters of the device behind it.
func (b *bed) userOctets(d report.Direction) func() (octets uint64, at int64, err error) {
	port, around := b.topology.N6.Peer, uint64(inet.LenEthernet)
	if d == report.Downlink {
		port, around = b.topology.N3.Peer, tunnelled
	}
	return func() (octets uint64, at int64, err error) {
		err = port.Namespace.Do(func() error {
			l, err := netlink.LinkByIndex(port.Index)
			if err != nil {
				return err
			}
			s := l.Attrs().Statistics
			octets, at = s.RxBytes-around*s.RxPackets, now()
			return nil
		})
		return octets, at, err
	}
}
