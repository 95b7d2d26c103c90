package conformance

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// endpoint is our P7: a plain UDP socket, since what is sent is wrong now and then.
type endpoint struct {
	socket  *net.UDPConn
	profile nfapi.Profile
	taint   taint
	done    chan struct{}

	mu       sync.Mutex
	to       netip.AddrPort
	sequence uint8
	partial  *nfapi.Reassembly
	bad      int // datagrams with a wrong checksum, without a header, or that cannot be decoded
	take     func(h *nfapi.Header, m nfapi.Message, from netip.AddrPort, at time.Time)
}

// socketOctets is how much may wait in the socket: some 100 ms of anything.
const socketOctets = 8 << 20

// listen opens P7. take is called with mu locked, and its message is good until it
// returns.
func listen(at netip.AddrPort, profile nfapi.Profile, t taint, take func(*nfapi.Header, nfapi.Message, netip.AddrPort, time.Time)) (*endpoint, error) {
	s, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("conformance: p7: %w", err)
	}
	_ = s.SetReadBuffer(socketOctets) // less is what the kernel allows
	e := &endpoint{socket: s, profile: profile, taint: t, take: take, partial: nfapi.NewReassembly(0), done: make(chan struct{})}
	go e.receive()
	return e, nil
}

// speak says what the peer's headers say that it speaks.
func (e *endpoint) speak(p nfapi.Profile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.profile = p
}

func (e *endpoint) close() {
	e.socket.Close()
	<-e.done
}

func (e *endpoint) local() netip.AddrPort { return e.socket.LocalAddr().(*net.UDPAddr).AddrPort() }

func (e *endpoint) receive() {
	defer close(e.done)
	b := make([]byte, 1<<16)
	for {
		n, from, err := e.socket.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		e.datagram(b[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), time.Now())
	}
}

func (e *endpoint) datagram(b []byte, from netip.AddrPort, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h, body, err := e.profile.ParseP7(b)
	if err != nil {
		e.bad++
		return
	}
	if state, _ := e.profile.Verify(&h, b); state == nfapi.ChecksumWrong {
		e.bad++
		return
	}
	if !h.Whole() {
		if body = e.partial.Add(&h, body); body == nil {
			return
		}
	}
	m := nfapi.NewMessage(h.MessageID)
	if m.DecodeBody(e.profile, body) != nil {
		e.bad++
		return
	}
	all := []nfapi.Message{m}
	if e.taint.p7 != nil {
		all = e.taint.p7(&h, m)
	}
	for _, m := range all {
		h.MessageID = m.MessageID()
		e.take(&h, m, from, at)
	}
}

// checksum is how a datagram is sealed.
type checksum int

const (
	checksumRight checksum = iota
	checksumAbsent
	checksumWrong
)

// whole is a segment size that nothing is cut by.
const whole = 65507

// datagrams makes a message into datagrams of at most size octets.
func (e *endpoint) datagrams(phy uint16, m nfapi.Message, size int, sum checksum, stamp uint32) ([][]byte, error) {
	if e.taint.sent != nil {
		m = e.taint.sent(m)
	}
	e.mu.Lock()
	p := e.profile
	e.sequence++
	sequence := e.sequence
	e.mu.Unlock()
	h := nfapi.Header{Generation: p.Generation(), PhyID: phy, Messages: 1}
	b := make([]byte, nfapi.MaxMessage)
	n, err := p.EncodeP7(&h, m, b)
	if err != nil {
		return nil, err
	}
	room := make([]byte, nfapi.MaxSegments*min(size, n))
	var all [][]byte
	err = p.Segments(&h, b[:n], size, sequence, room, func(d []byte) error {
		if sum == checksumAbsent {
			p.Stamp(h.Generation, d, stamp)
		} else {
			p.Seal(h.Generation, d, stamp)
		}
		if sum == checksumWrong {
			d[p.HeaderLen(nfapi.P7)-8] ^= 0x55
		}
		all = append(all, d)
		return nil
	})
	return all, err
}

// send sends datagrams as they are.
func (e *endpoint) send(all ...[]byte) error {
	e.mu.Lock()
	to := e.to
	e.mu.Unlock()
	if !to.IsValid() {
		return fmt.Errorf("conformance: p7: the peer's address is not known")
	}
	for _, d := range all {
		if _, err := e.socket.WriteToUDPAddrPort(d, to); err != nil {
			return fmt.Errorf("conformance: p7: %w", err)
		}
	}
	return nil
}
