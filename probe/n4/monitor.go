package n4

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// Defaults and bounds of a [Config].
const (
	defaultTimeout      = 20 * time.Second
	maxTimeout          = 60 * time.Second // what a histogram has room for
	defaultTransactions = 65_536
	defaultSessions     = 131_072
	maxUPFs             = 1024
	maxPoints           = 4096
)

// ErrBound is wrapped by errors about more UPFs or points than a Monitor has room for.
var ErrBound = errors.New("no room for more")

// Monitor measures N4 at its points. Its methods may be called by several goroutines.
type Monitor struct {
	config Config
	ring   *ebpf.Map
	reader *ringbuf.Reader
	ended  chan struct{}

	attaching sync.Mutex // one at a time; before mu

	mu          sync.Mutex // of all below
	upfs        []UPF
	taps        []*tap
	attachments []*Attachment // by tap; nil: closed
	pairing     *pairing
	failure     error // of the reader
}

// Open returns a Monitor without points. It needs CAP_BPF and CAP_NET_ADMIN.
func Open(c Config) (*Monitor, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	spec, err := loadTap()
	if err != nil {
		return nil, fmt.Errorf("n4: program: %w", err)
	}
	ring, err := ebpf.NewMap(spec.Maps[ringName])
	if err != nil {
		return nil, fmt.Errorf("n4: ring (needs CAP_BPF): %w", err)
	}
	reader, err := ringbuf.NewReader(ring)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("n4: ring: %w", err), ring.Close())
	}
	m := &Monitor{config: c, ring: ring, reader: reader, ended: make(chan struct{}), upfs: slices.Clone(c.UPFs)}
	m.pairing = newPairing(&c, func(upf int) string { return m.upfs[upf].Name })
	go m.read()
	return m, nil
}

// complete sets defaults, and says what is wrong.
func (c *Config) complete() error {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Transactions == 0 {
		c.Transactions = defaultTransactions
	}
	if c.Sessions == 0 {
		c.Sessions = defaultSessions
	}
	switch {
	case c.Timeout < 0 || c.Timeout > maxTimeout:
		return fmt.Errorf("n4: timeout %v: want up to %v", c.Timeout, maxTimeout)
	case c.Transactions < 0 || c.Sessions < 0:
		return fmt.Errorf("n4: room for %d transactions, %d sessions: want at least 1", c.Transactions, c.Sessions)
	case len(c.UPFs) > maxUPFs:
		return fmt.Errorf("n4: %d UPFs: want up to %d: %w", len(c.UPFs), maxUPFs, ErrBound)
	}
	return nil
}

// newPairing returns what pairs datagrams by a complete configuration.
func newPairing(c *Config, upf func(int) string) *pairing {
	return &pairing{
		timeoutNs: uint64(c.Timeout), table: newTable(c.Transactions),
		roles:  &roles{byEndpoint: map[roleKey]Role{}},
		series: map[seriesKey]*series{}, done: c.Done,
		learner: &learner{
			names: c.Slices, upf: upf, learn: c.Learn, forget: c.Forget, bound: c.Sessions,
			sessions: map[sessionKey]*session{}, byPeers: map[association]map[*session]struct{}{}, owners: map[ownerKey]*session{},
		},
	}
}

// AddUPF adds a UPF and returns its index.
func (m *Monitor) AddUPF(u UPF) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.upfs) >= maxUPFs {
		return 0, fmt.Errorf("n4: UPF %s beside %d: %w", u.Name, len(m.upfs), ErrBound)
	}
	m.upfs = append(m.upfs, u)
	return len(m.upfs) - 1, nil
}

// SetUPF updates a UPF whose addresses have changed. Counts continue; sessions at removed addresses
// are forgotten, because they can no longer be observed.
func (m *Monitor) SetUPF(upf int, u UPF) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if upf < 0 || upf >= len(m.upfs) {
		return fmt.Errorf("n4: UPF %d of %d", upf, len(m.upfs))
	}
	m.upfs[upf] = u
	n4 := u.addresses()
	for _, t := range m.taps {
		if t.UPF == upf {
			t.n4 = n4
		}
	}
	if len(n4) > 0 {
		m.pairing.learner.leave(upf, n4)
	}
	return nil
}

// addresses are those at N4 as datagrams have them.
func (u *UPF) addresses() []endpointAddr {
	var list []endpointAddr
	for _, addr := range u.N4 {
		list = append(list, addr16(addr))
	}
	return list
}

// read takes in what the programs have written, until the ring is closed.
func (m *Monitor) read() {
	defer close(m.ended)
	var record ringbuf.Record
	for {
		if err := m.reader.ReadInto(&record); err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			if !errors.Is(err, ringbuf.ErrClosed) {
				m.failure = fmt.Errorf("n4: ring: %w", err)
			}
			return
		}
		m.mu.Lock()
		m.pairing.takeRecord(m.taps, record.RawSample)
		m.mu.Unlock()
	}
}

// Read returns what was counted so far.
func (m *Monitor) Read() (*Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return nil, m.failure
	}
	s := &Snapshot{At: time.Now(), MonotonicNs: monotonic()}
	m.pairing.expire(s.MonotonicNs)
	s.Series = m.pairing.snapshot(m.upfs)
	s.Learnt = m.pairing.learner.snapshot()
	for i, t := range m.taps {
		count := t.count
		count.Point = t.Point
		if a := m.attachments[i]; a != nil {
			lost, err := a.lost()
			if err != nil {
				return nil, err
			}
			count.Lost += lost
		}
		s.Points = append(s.Points, count)
	}
	return s, nil
}

// Close takes the programs off all points and ends the Monitor. What was counted can no
// longer be read.
func (m *Monitor) Close() error {
	m.mu.Lock()
	open := slices.Clone(m.attachments)
	m.mu.Unlock()
	var errs []error
	for _, a := range open {
		if a != nil {
			errs = append(errs, a.Close())
		}
	}
	errs = append(errs, m.reader.Close())
	<-m.ended
	return errors.Join(append(errs, m.ring.Close())...)
}

// monotonic returns CLOCK_MONOTONIC in nanoseconds, which bpf_ktime_get_ns reads too.
func monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for no clock that there is
	return uint64(t.Nano())
}
