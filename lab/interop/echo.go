package interop

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// series is echo requests, one after another.
type series struct {
	from     *topology.Namespace
	device   string     // that the socket is bound to; empty: to none
	source   netip.Addr // unset: the kernel's choice
	to       netip.Addr
	size     int // of the payload
	interval time.Duration
	whole    bool          // DF
	patience time.Duration // for answers, after the last request
}

func (s *series) version() int {
	if s.to.Is4() {
		return 4
	}
	return 6
}

// maxRequests is how many sequence numbers there are.
const maxRequests = 1 << 16

// pinger is a series under way.
type pinger struct {
	series
	message
	conn    net.PacketConn
	stopped chan struct{}
	sending sync.WaitGroup
	reading sync.WaitGroup

	stopping sync.Once

	mu       sync.Mutex
	sent     []time.Time
	answered []time.Time // zero: not yet
	open     int         // of sent, not answered
	damaged  int
	twice    int
	unsent   int
	refused  string
}

// open makes the socket of a series in its namespace.
func (s *series) open(ctx context.Context) (conn net.PacketConn, err error) {
	network, listen := "ip4:icmp", "0.0.0.0"
	if s.version() == 6 {
		network, listen = "ip6:ipv6-icmp", "::"
	}
	if s.source.IsValid() {
		listen = s.source.String()
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) { set = s.options(int(fd)) })
		if err != nil {
			return err
		}
		return set
	}}
	err = s.from.Do(func() (err error) {
		conn, err = config.ListenPacket(ctx, network, listen)
		return err
	})
	return conn, err
}

func (s *series) options(fd int) error {
	if s.device != "" {
		if err := unix.BindToDevice(fd, s.device); err != nil {
			return fmt.Errorf("bind to %s: %w", s.device, err)
		}
	}
	if !s.whole {
		return nil
	}
	// PROBE sends with DF, regardless of the path MTU known to the kernel.
	if s.version() == 4 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
}

// start begins a series of at most count requests; 0: until it is ended.
func (s series) start(ctx context.Context, count int) (*pinger, error) {
	p := &pinger{series: s, stopped: make(chan struct{})}
	p.message.version, p.message.size = s.version(), max(s.size, minPayload)
	var random [lenToken + 2]byte
	_, _ = rand.Read(random[:]) // never fails
	p.token, p.id = [lenToken]byte(random[:]), binary.BigEndian.Uint16(random[lenToken:])
	var err error
	if p.conn, err = s.open(ctx); err != nil {
		return nil, fmt.Errorf("interop: echo requests to %v: %w", s.to, err)
	}
	if count == 0 {
		count = maxRequests
	}
	p.sending.Go(func() { p.send(ctx, min(count, maxRequests)) })
	p.reading.Go(p.read)
	return p, nil
}

// run sends count requests and returns those that were answered.
func (s series) run(ctx context.Context, count int) (*report.InteropEcho, error) {
	p, err := s.start(ctx, count)
	if err != nil {
		return nil, err
	}
	p.sending.Wait()
	return p.end(ctx), nil
}

func (p *pinger) send(ctx context.Context, count int) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	to := &net.IPAddr{IP: p.to.AsSlice()}
	for sequence := range count {
		if sequence > 0 {
			select {
			case <-ticker.C:
			case <-p.stopped:
				return
			case <-ctx.Done():
				return
			}
		}
		p.mu.Lock()
		p.sent, p.answered, p.open = append(p.sent, time.Now()), append(p.answered, time.Time{}), p.open+1
		p.mu.Unlock()
		if _, err := p.conn.WriteTo(p.request(uint16(sequence)), to); err != nil {
			p.mu.Lock()
			p.refused, p.unsent = err.Error(), p.unsent+1
			p.mu.Unlock()
		}
	}
}

// read takes answers until the socket is closed.
func (p *pinger) read() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := p.conn.ReadFrom(b)
		if err != nil {
			return
		}
		at := time.Now()
		p.mu.Lock()
		if sequence, intact, ok := p.reply(b[:n]); ok {
			p.take(int(sequence), intact, at)
		} else if a, ok := from.(*net.IPAddr); ok {
			addr, _ := netip.AddrFromSlice(a.IP)
			if refusal := p.refusal(addr.Unmap(), b[:n]); refusal != "" {
				p.refused = refusal
			}
		}
		p.mu.Unlock()
	}
}

func (p *pinger) take(sequence int, intact bool, at time.Time) {
	switch {
	case sequence >= len(p.sent): // was not asked
	case !intact:
		p.damaged++
	case !p.answered[sequence].IsZero():
		p.twice++
	default:
		p.answered[sequence] = at
		p.open--
	}
}

// answerEvery is how often is looked whether all is answered.
const answerEvery = 10 * time.Millisecond

// stop sends no more.
func (p *pinger) stop() { p.stopping.Do(func() { close(p.stopped) }); p.sending.Wait() }

// end sends no more, waits for answers, and returns the account.
func (p *pinger) end(ctx context.Context) *report.InteropEcho {
	p.stop()
	for deadline := time.Now().Add(p.patience); p.waiting() && time.Now().Before(deadline) && ctx.Err() == nil; {
		time.Sleep(answerEvery)
	}
	time.Sleep(answerEvery) // for answers that come twice
	_ = p.conn.Close()      // ends read
	p.reading.Wait()
	return p.account()
}

func (p *pinger) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open > 0
}

// lastRequests are those of which one has to be answered after a change.
const lastRequests = 5

func (p *pinger) account() *report.InteropEcho {
	e := &report.InteropEcho{
		Octets: headerOctets(p.message.version) + inet.LenICMP + p.message.size, Sent: len(p.sent), Received: len(p.sent) - p.open,
		Damaged: p.damaged, Duplicated: p.twice, Unsent: p.unsent, Error: p.refused,
	}
	if len(p.sent) == 0 {
		return e
	}
	var sum time.Duration
	var arrivals []time.Time
	for i, at := range p.answered {
		if at.IsZero() {
			continue
		}
		rtt := at.Sub(p.sent[i])
		if sum += rtt; len(arrivals) == 0 || int64(rtt) < e.MinNS {
			e.MinNS = int64(rtt)
		}
		e.MaxNS = max(e.MaxNS, int64(rtt))
		arrivals = append(arrivals, at)
		e.Recovered = e.Recovered || i >= len(p.sent)-lastRequests
	}
	e.GapNS = int64(longestGap(p.sent[0], p.sent[len(p.sent)-1], arrivals))
	if len(arrivals) > 0 {
		e.MeanNS, e.FirstNS = int64(sum)/int64(len(arrivals)), int64(earliest(arrivals).Sub(p.sent[0]))
	}
	return e
}
