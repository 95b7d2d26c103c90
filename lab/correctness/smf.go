package correctness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// smf is a CP function with few sessions, that notes when what was said. Its
// requests are for one goroutine.
type smf struct {
	conn     *net.UDPConn
	upf      netip.AddrPort
	node     netip.Addr
	sequence uint32
	started  pfcp.TimeStamp // Recovery Time Stamp: another one would be a restart
	answers  chan datagram

	mu       sync.Mutex
	sessions map[uint64]uint64        // SEID of the UP function by ours
	reports  map[uint64]chan reported // by our SEID
	done     sync.WaitGroup
}

// datagram is a PFCP message as it came.
type datagram struct {
	at     int64 // ns
	header pfcp.Header
	body   []byte
}

// reported is a Session Report Request.
type reported struct {
	at int64 // ns
	m  pfcp.SessionReportRequest
}

// What a UP function is reported with that does not do what it is asked for.
var (
	errRefused = errors.New("refused")
	errSilent  = errors.New("the UPF is silent")
	errWrong   = errors.New("the UPF is wrong")
	errLost    = errors.New("the UPF lost the rest")
)

const (
	t1     = time.Second // until a request is sent again
	n1     = 3           // how often it is sent in all
	queued = 1024        // reports of a session that nobody has asked for yet
)

func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail
	return t.Nano()
}

// newSMF makes a CP function in the UPF's namespace and associates with it.
func newSMF(ctx context.Context, t *topology.Topology) (*smf, error) {
	s := &smf{
		upf: netip.AddrPortFrom(t.Config.N4UPF, pfcp.Port), node: t.Config.N4SMF,
		sequence: uint32(now()) & 0xffff, started: pfcp.NewTimeStamp(time.Now()), answers: make(chan datagram, queued),
		sessions: map[uint64]uint64{}, reports: map[uint64]chan reported{},
	}
	err := t.UPF.Do(func() (err error) {
		s.conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.node, pfcp.Port)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("correctness: CP function: %w", err)
	}
	s.done.Go(s.receive)
	if err := s.associate(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *smf) associate(ctx context.Context) error {
	var r pfcp.AssociationSetupResponse
	_, err := s.ask(ctx, 0, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: s.node}, RecoveryTimeStamp: s.started,
	}, &r)
	if err == nil && !r.Cause.Accepted() {
		err = fmt.Errorf("correctness: association: %s: %w", r.Cause, errRefused)
	}
	return err
}

func (s *smf) close() error {
	err := s.conn.Close()
	s.done.Wait()
	return err
}

// ask sends a request until the response comes, decodes that into response, and
// returns when it came.
func (s *smf) ask(ctx context.Context, seid uint64, request, response pfcp.Message) (at int64, err error) {
	s.sequence = (s.sequence + 1) & 0xffffff
	b, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: s.sequence}, request)
	if err != nil {
		return 0, fmt.Errorf("correctness: %w", err)
	}
	for range n1 {
		if _, err := s.conn.WriteToUDPAddrPort(b, s.upf); err != nil {
			return 0, fmt.Errorf("correctness: %w", err)
		}
		timeout := time.After(t1)
		for waiting := true; waiting; {
			select {
			case d := <-s.answers:
				if d.header.Sequence == s.sequence && d.header.Type == response.MessageType() {
					return d.at, response.Decode(d.body)
				}
			case <-timeout:
				waiting = false
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}
	return 0, fmt.Errorf("correctness: no response to %T, sent %d times: %w", request, n1, errSilent)
}

// receive takes what the UP function sends until the socket is closed.
func (s *smf) receive() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(b)
		at := now()
		if err != nil {
			return
		}
		if from.Addr().Unmap() != s.upf.Addr() {
			continue
		}
		h, body, _, err := pfcp.Parse(append([]byte(nil), b[:n]...))
		switch {
		case err != nil:
		case h.Type == pfcp.MsgHeartbeatRequest:
			s.answer(h, 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: s.started}, from)
		case h.Type == pfcp.MsgSessionReportRequest:
			s.report(h, body, at, from)
		case !h.Type.IsRequest():
			select {
			case s.answers <- datagram{at, h, body}:
			default: // of a request that was given up
			}
		}
	}
}

// report answers a Session Report Request and keeps it.
func (s *smf) report(h pfcp.Header, body []byte, at int64, from netip.AddrPort) {
	r := reported{at: at}
	if r.m.Decode(body) != nil {
		return
	}
	s.mu.Lock()
	seid, reports := s.sessions[h.SEID], s.reports[h.SEID]
	s.mu.Unlock()
	s.answer(h, seid, &pfcp.SessionReportResponse{Cause: pfcp.CauseRequestAccepted}, from)
	select {
	case reports <- r: // nil: of a session that has been deleted
	default:
	}
}

func (s *smf) answer(h pfcp.Header, seid uint64, m pfcp.Message, to netip.AddrPort) {
	if b, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: h.Sequence}, m); err == nil {
		_, _ = s.conn.WriteToUDPAddrPort(b, to) // lost: it will ask again
	}
}
