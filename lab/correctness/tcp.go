package correctness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"plumbline/gnb"
	"plumbline/lab/report"
	"plumbline/lab/topology"
)

const (
	tcpWarmUp = 2 * time.Second // slow start, and until the burst is used up
	tcpMargin = time.Second     // at the end
)

func (b *bed) tcpTime() time.Duration { return tcpWarmUp + b.Duration + tcpMargin }

// tcp measures what TCP gets through each MBR: iperf3 from a UE behind package
// gnb to the data network, or back.
func (b *bed) tcp(ctx context.Context) error {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return fmt.Errorf("%w: TCP is measured with iperf3, which is not installed", errors.ErrUnsupported)
	}
	_ = b.sink.Close() // the gNB has its port now
	for _, d := range b.Directions {
		for _, kbps := range b.TCPKbps {
			b.step(fmt.Sprintf("MBR %d kbit/s %s, TCP", kbps, d), b.tcpTime())
			f, err := b.tcpRate(ctx, d, kbps)
			if err != nil {
				return fmt.Errorf("MBR %d kbit/s %s, TCP: %w", kbps, d, err)
			}
			b.result.Rates = append(b.result.Rates, f)
		}
	}
	var err error
	b.sink, err = listenGTPU(b.topology)
	return err
}

func (b *bed) tcpRate(ctx context.Context, d report.Direction, kbps uint64) (f report.RateFigure, err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{mbr: kbps})
	if err != nil {
		return f, err
	}
	stop, err := b.serveUE(ctx, s)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	end, err := b.iperf(ctx, s.ue, d)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, end()) }()
	time.Sleep(tcpWarmUp)
	octets := b.userOctets(d)
	before, begin, err := octets()
	if err != nil {
		return f, err
	}
	time.Sleep(b.Duration)
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

// serveUE gives the session a UE: a TUN device in the gNB's namespace.
func (b *bed) serveUE(ctx context.Context, s *session) (stop func() error, err error) {
	t := b.topology
	var g *gnb.GNB
	err = t.GNB.Do(func() (err error) {
		g, err = gnb.New(gnb.Config{
			N3: gnb.N3{Address: s.gnb, UPF: t.N3.UPF.Address.Addr()},
			UEs: []gnb.UE{{
				Name: "ue", Addresses: []netip.Addr{s.ue}, UplinkTEID: s.teid, DownlinkTEID: downlinkTEID, QFI: qfi,
				Routes: []netip.Prefix{netip.PrefixFrom(t.N6.Peer.Address.Addr(), 32)},
			}},
		}, slog.New(slog.DiscardHandler))
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	var runErr error
	ended.Go(func() { runErr = g.Run(ctx) })
	return func() error {
		cancel()
		ended.Wait()
		if errors.Is(runErr, context.Canceled) {
			return nil
		}
		return runErr
	}, nil
}

// iperf starts client and server, and returns what ends both: what they make of
// it at last is not asked for.
func (b *bed) iperf(ctx context.Context, ue netip.Addr, d report.Direction) (end func() error, err error) {
	t := b.topology
	server, err := spawn(ctx, t.DN, "iperf3", "--server", "--one-off", "--bind", t.N6.Peer.Address.Addr().String())
	if err != nil {
		return nil, err
	}
	if err := listening(ctx, t.DN, server); err != nil {
		return nil, err
	}
	seconds := strconv.Itoa(int(2 * b.tcpTime() / time.Second))
	args := []string{"iperf3", "--client", t.N6.Peer.Address.Addr().String(), "--bind", ue.String(), "--time", seconds}
	if d == report.Downlink {
		args = append(args, "--reverse")
	}
	client, err := spawn(ctx, t.GNB, args...)
	if err != nil {
		return nil, errors.Join(err, server.kill())
	}
	return func() error {
		early := client.exited()
		return errors.Join(early, client.kill(), server.kill())
	}, nil
}

// process is a program in a namespace.
type process struct {
	*exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
}

func spawn(ctx context.Context, ns *topology.Namespace, args ...string) (*process, error) {
	p := &process{ended: make(chan struct{})}
	p.Cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.Stdout, p.Stderr = &p.output, &p.output
	if err := ns.Do(p.Start); err != nil {
		return nil, fmt.Errorf("correctness: %w", err)
	}
	go func() {
		_ = p.Wait() // whoever asks has the output
		close(p.ended)
	}()
	return p, nil
}

// exited is an error if the process has ended already.
func (p *process) exited() error {
	select {
	case <-p.ended:
		return fmt.Errorf("correctness: %v ended early: %s", p.Args, bytes.TrimSpace(p.output.Bytes()))
	default:
		return nil
	}
}

// kill ends the process, if it has not ended.
func (p *process) kill() error {
	_ = p.Process.Kill()
	<-p.ended
	return nil
}

// listening waits until the iperf3 server takes connections.
func listening(ctx context.Context, ns *topology.Namespace, p *process) error {
	const iperfPort = 5201
	for {
		found := false
		err := ns.Do(func() error {
			sockets, err := netlink.SocketDiagTCP(unix.AF_INET)
			for _, s := range sockets {
				found = found || s.ID.SourcePort == iperfPort && s.State == netlink.TCP_LISTEN
			}
			return err
		})
		if err != nil || found {
			return err
		}
		select {
		case <-p.ended:
			return p.exited()
		case <-ctx.Done():
			return errors.Join(ctx.Err(), p.kill())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// userOctets returns what reads how many octets of user packets have left the
// UPF, by the counters of the device behind it.
func (b *bed) userOctets(d report.Direction) func() (octets uint64, at int64, err error) {
	port, around := b.topology.N6.Peer, uint64(etherOctets)
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
