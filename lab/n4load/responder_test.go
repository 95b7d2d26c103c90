package n4load

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// responder is a UP function that keeps nothing but F-SEIDs. It loses and
// doubles datagrams on the way in and out, as a bad network does.
type responder struct {
	conn *net.UDPConn

	loss, double float64 // probability, each way
	refuse       uint64  // the CP function's SEID that is refused; 0: none
	random       *rand.Rand
	recovery     pfcp.TimeStamp // 0: the time of the association

	mu       sync.Mutex
	sessions map[uint64]uint64 // the CP function's SEID by ours
	requests map[pfcp.MessageType]int
	tunnels  map[uint64]uint32      // TEID of the downlink tunnel by our SEID
	answered map[transaction][]byte // responses
	answers  map[uint32][]byte      // what was answered to our own requests, by sequence number

	// sequence is what stands in the response to a request with that number; nil: the same.
	sequence func(uint32) uint32

	// before is called before a request is worked on; nil: not.
	before func(number int)
	number int // of datagrams so far
}

// transaction is who asks what.
type transaction struct {
	from     netip.AddrPort
	sequence uint32
}

func newResponder(t testing.TB) *responder {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return &responder{
		conn: conn, random: rand.New(rand.NewPCG(1, 2)), sessions: map[uint64]uint64{}, requests: map[pfcp.MessageType]int{},
		tunnels: map[uint64]uint32{}, answered: map[transaction][]byte{}, answers: map[uint32][]byte{},
	}
}

// start serves until the test ends.
func (r *responder) start(t testing.TB) netip.AddrPort {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); r.serve() }()
	t.Cleanup(func() { _ = r.conn.Close(); <-done })
	return r.conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func (r *responder) serve() {
	b := make([]byte, maxDatagram)
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		for range r.times() {
			if out := r.handle(from, b[:n]); out != nil {
				for range r.times() {
					_, _ = r.conn.WriteToUDPAddrPort(out, from)
				}
			}
		}
	}
}

// stop makes the responder wait before it works on the nth datagram from now.
func (r *responder) stop(n int, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.number + n
	r.before = func(number int) {
		if number == at {
			time.Sleep(d)
		}
	}
}

// held is how many sessions there are.
func (r *responder) held() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

// times says how often a datagram arrives.
func (r *responder) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch p := r.random.Float64(); {
	case p < r.loss:
		return 0
	case p < r.loss+r.double:
		return 2
	}
	return 1
}

// handle returns the response, for a repeated request the same as before.
func (r *responder) handle(from netip.AddrPort, b []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.number++; r.before != nil {
		r.before(r.number)
	}
	h, body, _, err := pfcp.Parse(b)
	if err != nil {
		return nil
	}
	if !h.Type.IsRequest() {
		r.answers[h.Sequence] = bytes.Clone(b)
		return nil
	}
	if out, ok := r.answered[transaction{from, h.Sequence}]; ok {
		return out
	}
	r.requests[h.Type]++
	seid, m := r.answer(h, body)
	sequence := h.Sequence
	if r.sequence != nil {
		sequence = r.sequence(sequence)
	}
	out, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: sequence}, m)
	if err != nil {
		return nil
	}
	r.answered[transaction{from, h.Sequence}] = out
	return out
}

// answer returns the response and the SEID of its header.
func (r *responder) answer(h pfcp.Header, body []byte) (uint64, pfcp.Message) {
	node := pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.1")}
	switch h.Type {
	case pfcp.MsgSessionEstablishmentRequest:
		return r.establish(node, body)
	case pfcp.MsgSessionModificationRequest:
		var m pfcp.SessionModificationRequest
		if err := m.Decode(body); err != nil || r.sessions[h.SEID] == 0 {
			return 0, &pfcp.SessionModificationResponse{Cause: pfcp.CauseSessionContextNotFound}
		}
		r.tunnels[h.SEID] = m.UpdateFARs[0].UpdateForwardingParameters.Value.OuterHeaderCreation.Value.TEID
		return r.sessions[h.SEID], &pfcp.SessionModificationResponse{Cause: pfcp.CauseRequestAccepted}
	case pfcp.MsgSessionDeletionRequest:
		cp := r.sessions[h.SEID]
		if cp == 0 {
			return 0, &pfcp.SessionDeletionResponse{Cause: pfcp.CauseSessionContextNotFound}
		}
		delete(r.sessions, h.SEID)
		return cp, &pfcp.SessionDeletionResponse{Cause: pfcp.CauseRequestAccepted}
	case pfcp.MsgAssociationReleaseRequest:
		return 0, &pfcp.AssociationReleaseResponse{NodeID: node, Cause: pfcp.CauseRequestAccepted}
	}
	recovery := r.recovery
	if recovery == 0 {
		recovery = pfcp.NewTimeStamp(time.Now())
	}
	if h.Type == pfcp.MsgHeartbeatRequest {
		return 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: recovery}
	}
	return 0, &pfcp.AssociationSetupResponse{
		NodeID: node, Cause: pfcp.CauseRequestAccepted, RecoveryTimeStamp: recovery,
		UPFunctionFeatures: pfcp.Some(pfcp.UPFeatureFTUP),
	}
}

func (r *responder) establish(node pfcp.NodeID, body []byte) (uint64, pfcp.Message) {
	var m pfcp.SessionEstablishmentRequest
	if err := m.Decode(body); err != nil {
		return 0, &pfcp.SessionEstablishmentResponse{NodeID: node, Cause: pfcp.CauseRequestRejected}
	}
	cp := m.CPFSEID.SEID
	if cp == r.refuse {
		return cp, &pfcp.SessionEstablishmentResponse{
			NodeID: node, Cause: pfcp.CauseRuleCreationModificationFail, FailedRuleID: pfcp.Some(pfcp.FailedRuleID{Type: pfcp.RulePDR, ID: uplinkID}),
		}
	}
	up := 1<<40 | cp
	r.sessions[up] = cp
	r.tunnels[up] = m.CreateFARs[1].ForwardingParameters.Value.OuterHeaderCreation.Value.TEID
	response := &pfcp.SessionEstablishmentResponse{
		NodeID: node, Cause: pfcp.CauseRequestAccepted, UPFSEID: pfcp.Some(pfcp.FSEID{SEID: up, IPv4: node.Addr}),
	}
	if f := m.CreatePDRs[0].PDI.FTEID.Value; f.CH {
		response.CreatedPDRs = []pfcp.CreatedPDR{{PDRID: uplinkID, LocalFTEIDs: []pfcp.FTEID{{
			TEID: 0x80000000 | uint32(cp), V4: true, IPv4: netip.MustParseAddr("10.3.0.1"),
		}}}}
	}
	return cp, response
}
