package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/tcp"
)

// What iperf3 does.
const (
	tcpTime, udpTime, ambrTime = 2 * time.Second, 2 * time.Second, 4 * time.Second
	ambrOmit                   = time.Second      // until the burst of a meter is used up
	iperfMore                  = 15 * time.Second // that it may take longer
	udpBPS                     = 1_000_000
	udpOctets                  = 1200
	// more is offered than the AMBR, by that factor.
	ambrOffer = 1.5
	// below and above the AMBR, of its parts: what may be received.
	ambrBelow, ambrAbove = 0.20, 0.05
)

// iperfBinds reports whether iperf3 can be bound to a device, which versions before 3.10
// cannot: they are bound to the address alone.
func iperfBinds(ctx context.Context) (bool, error) {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	help, err := exec.CommandContext(ctx, "iperf3", "--help").CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // some versions end with another status
		return false, fmt.Errorf("interop: %w", err)
	}
	return bytes.Contains(help, []byte("--bind-dev")), nil
}

// place is where iperf3 runs.
func (b *bed) place(p path) (apps.Place, error) {
	at := apps.Place{UE: p.namespace, DN: b.dn, UEAddress: p.address, DNAddress: p.dn, ServerPort: b.IperfPort, ServerRuns: b.IperfPort != 0}
	if b.binds {
		at.UEDevice = p.Device
	}
	if at.ServerRuns {
		return at, nil
	}
	var err error
	at.ServerPort, err = b.freePort(p.dn)
	return at, err
}

// freePort is a TCP port of the data network that no server has.
func (b *bed) freePort(at netip.Addr) (port uint16, err error) {
	err = b.dn.Do(func() error {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
		if err != nil {
			return err
		}
		port = l.Addr().(*net.TCPAddr).AddrPort().Port()
		return l.Close()
	})
	return port, err
}

func (b *bed) tcp(p path, downlink bool) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) {
		at, err := b.place(p)
		if err != nil {
			fail(row, err)
			return
		}
		test, err := tcp.StartAt(ctx, at, tcp.Flow{Downlink: downlink, Duration: tcpTime})
		if err != nil {
			fail(row, iperfError(err))
			return
		}
		r, err := test.Wait(ctx, tcpTime+iperfMore)
		if err != nil {
			fail(row, iperfError(err))
			return
		}
		row.Transfer = &report.InteropTransfer{Octets: r.Octets, BPS: r.BPS}
		row.Result, row.Seen = report.Pass, fmt.Sprintf("received %d octets, %s", r.Octets, bitRate(r.BPS))
		if r.Octets == 0 {
			row.Result = report.Fail
		}
	}
}

// stream has iperf3 send UDP.
func (b *bed) stream(ctx context.Context, p path, downlink bool, bps uint64, duration, omit time.Duration) (apps.Transfer, error) {
	at, err := b.place(p)
	if err != nil {
		return apps.Transfer{}, err
	}
	s := apps.Stream{UplinkBPS: bps, Octets: udpOctets, Duration: duration, Omit: omit}
	if downlink {
		s.UplinkBPS, s.DownlinkBPS = 0, bps
	}
	i, err := apps.StartIperf(ctx, at, s)
	if err != nil {
		return apps.Transfer{}, iperfError(err)
	}
	r, err := i.Wait(ctx, iperfMore)
	if err != nil {
		return apps.Transfer{}, iperfError(err)
	}
	if downlink {
		return r.Downlink, nil
	}
	return r.Uplink, nil
}

func (b *bed) udp(p path, downlink bool) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) {
		r, err := b.stream(ctx, p, downlink, udpBPS, udpTime, 0)
		if err != nil {
			fail(row, err)
			return
		}
		row.Transfer = &report.InteropTransfer{
			Octets: uint64(r.Packets-r.Lost) * udpOctets, BPS: r.BPS, Packets: r.Packets, Lost: r.Lost, OfferedBPS: udpBPS,
		}
		row.Result, row.Seen = report.Pass, fmt.Sprintf("sent %d, lost %d, %s", r.Packets, r.Lost, bitRate(r.BPS))
		if r.Lost > 0 {
			row.Result = report.Fail
		}
	}
}

// ambr offers more than the AMBR. Its octets are those of IP packets.
func (b *bed) ambr(p path, downlink bool, ambr uint64) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) {
		packet := float64(headerOctets(p.version)+inet.LenUDP+udpOctets) / udpOctets
		offered := ambrOffer * float64(ambr) / packet
		r, err := b.stream(ctx, p, downlink, uint64(offered), ambrTime, ambrOmit)
		if err != nil {
			fail(row, err)
			return
		}
		row.Transfer = &report.InteropTransfer{
			Octets: uint64(r.BPS * ambrTime.Seconds() / 8), BPS: r.BPS, Packets: r.Packets, Lost: r.Lost,
			OfferedBPS: offered, AskedBPS: float64(ambr), IPBPS: r.BPS * packet,
		}
		wrong := r.BPS*packet/float64(ambr) - 1
		row.Result, row.Seen = report.Fail, fmt.Sprintf("received %s of %s (%+.1f %%)", bitRate(r.BPS*packet), bitRate(float64(ambr)), 100*wrong)
		if wrong >= -ambrBelow && wrong <= ambrAbove {
			row.Result = report.Pass
		}
	}
}

var iperfSays = regexp.MustCompile(`"error":\s*"((?:[^"\\]|\\.)*)"`)

// iperfError is what iperf3 says in its JSON that went wrong, if it says it.
func iperfError(err error) error {
	if m := iperfSays.FindStringSubmatch(err.Error()); m != nil {
		return errors.New("iperf3: " + m[1])
	}
	return err
}

func bitRate(bps float64) string {
	switch {
	case bps >= 1e9:
		return fmt.Sprintf("%.2f Gbit/s", bps/1e9)
	case bps >= 1e6:
		return fmt.Sprintf("%.1f Mbit/s", bps/1e6)
	}
	return fmt.Sprintf("%.0f kbit/s", bps/1e3)
}
