package n4

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// cpFunction is a CP function with a socket at the port where requests of the UP
// function go. It answers them, and remembers them.
type cpFunction struct {
	t    *testing.T
	conn *net.UDPConn
	addr netip.Addr

	mu       sync.Mutex
	got      []pfcp.Message
	recovery pfcp.TimeStamp
	cause    pfcp.Cause // of its answers
	silent   bool
	features pfcp.CPFunctionFeatures
}

// newCPFunction returns a CP function at a loopback address and port.
func newCPFunction(t *testing.T, addr string, port uint16) *cpFunction {
	t.Helper()
	at := netip.AddrPortFrom(netip.MustParseAddr(addr), port)
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	f := &cpFunction{t: t, conn: conn, addr: at.Addr(), recovery: 7, cause: pfcp.CauseRequestAccepted}
	var done sync.WaitGroup
	done.Go(f.serve)
	t.Cleanup(func() { _ = conn.Close(); done.Wait() })
	return f
}

// port is a UDP port that was free just now on all loopback addresses.
func port(t *testing.T) uint16 {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
}

func (f *cpFunction) serve() {
	buf := make([]byte, 65536)
	for {
		n, from, err := f.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		h, body, _, err := pfcp.Parse(buf[:n])
		if err != nil {
			f.t.Errorf("request %x: %v", buf[:n], err)
			continue
		}
		request, answer := f.answer(h.Type)
		if request == nil {
			continue // a response to what a test asks by another way
		}
		if err := request.Decode(slices.Clone(body)); err != nil {
			f.t.Errorf("%v %x: %v", h.Type, body, err)
			continue
		}
		f.mu.Lock()
		f.got = append(f.got, request)
		silent := f.silent
		f.mu.Unlock()
		if silent {
			continue
		}
		b, err := pfcp.Append(nil, pfcp.Header{Sequence: h.Sequence}, answer)
		if err != nil {
			f.t.Error(err)
			continue
		}
		_, _ = f.conn.WriteToUDPAddrPort(b, from)
	}
}

// answer returns what a request of that type is decoded into, and its answer.
func (f *cpFunction) answer(t pfcp.MessageType) (request, answer pfcp.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := pfcp.NodeID{Addr: f.addr}
	switch t {
	case pfcp.MsgHeartbeatRequest:
		return new(pfcp.HeartbeatRequest), &pfcp.HeartbeatResponse{RecoveryTimeStamp: f.recovery}
	case pfcp.MsgAssociationSetupRequest:
		return new(pfcp.AssociationSetupRequest), &pfcp.AssociationSetupResponse{
			NodeID: id, Cause: f.cause, RecoveryTimeStamp: f.recovery, CPFunctionFeatures: pfcp.Some(f.features)}
	case pfcp.MsgAssociationUpdateRequest:
		return new(pfcp.AssociationUpdateRequest), &pfcp.AssociationUpdateResponse{NodeID: id, Cause: f.cause}
	case pfcp.MsgNodeReportRequest:
		return new(pfcp.NodeReportRequest), &pfcp.NodeReportResponse{NodeID: id, Cause: f.cause}
	case pfcp.MsgSessionReportRequest:
		return new(pfcp.SessionReportRequest), &pfcp.SessionReportResponse{Cause: f.cause}
	}
	return nil, nil
}

// set changes how it answers.
func (f *cpFunction) set(change func(f *cpFunction)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// await returns the next request of type M after the first skip ones, or fails.
func await[M pfcp.Message](t *testing.T, f *cpFunction, skip int) (m M) {
	t.Helper()
	eventually(t, "a request of type "+m.MessageType().String(), func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, r := range f.got {
			if r, ok := r.(M); ok {
				if n++; n > skip {
					m = r
					return true
				}
			}
		}
		return false
	})
	return m
}

// TestInitiate: the UP function sets up the association, again and again until
// it is accepted, and again after it was released or the peer has restarted.
func TestInitiate(t *testing.T) {
	p := port(t)
	cp := newCPFunction(t, "127.0.0.2", p)
	cp.set(func(f *cpFunction) { f.cause = pfcp.CauseNoResourcesAvailable })
	b := newBed(t, Config{
		Associate: []netip.Addr{cp.addr}, PeerPort: p, Peers: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")},
		HeartbeatInterval: 20 * time.Millisecond, T1: time.Second,
	})
	first := await[*pfcp.AssociationSetupRequest](t, cp, 0)
	if first.NodeID.Addr != b.Addr().Addr() || !first.UPFunctionFeatures.Present || first.RecoveryTimeStamp != pfcp.NewTimeStamp(recoveryTime) {
		t.Errorf("setup request %+v", first)
	}
	cp.set(func(f *cpFunction) { f.cause, f.features = pfcp.CauseRequestAccepted, pfcp.CPFeatureLOAD })
	eventually(t, "an association", func() bool { return len(b.Associations()) == 1 })
	a := b.Associations()[0]
	if a.NodeID != "127.0.0.2" || a.Addr != cp.addr || a.Recovery != pfcp.TimeStamp(7).Time() {
		t.Errorf("association %+v", a)
	}
	await[*pfcp.HeartbeatRequest](t, cp, 0)
	// It is a peer although the list of peers does not name it.
	c := b.client(t, "127.0.0.2")
	c.establish(usual("127.0.0.2", "10.45.0.2"))
	cp.set(func(f *cpFunction) { f.recovery = 8 })
	eventually(t, "another association", func() bool {
		list := b.Associations()
		return len(list) == 1 && list[0].Owner != a.Owner
	})
	if n := b.sessions.Len(); n != 0 {
		t.Errorf("%d sessions after the CP function's restart, want 0", n)
	}
}

// TestRelease: at an orderly stop the CP function is asked to release the
// association; who does not is not waited for longer than the graceful period.
func TestRelease(t *testing.T) {
	p := port(t)
	good, lazy := newCPFunction(t, "127.0.0.2", p), newCPFunction(t, "127.0.0.3", p)
	b := newBed(t, Config{PeerPort: p, GracefulRelease: 2 * time.Second, Sockets: 1})
	c, d := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
	for i, c := range []*client{c, d} {
		c.associate(c.node(), recoveryTime)
		c.establish(usual(c.node(), netip.AddrFrom4([4]byte{10, 45, 0, byte(i)}).String()))
	}
	done := make(chan error)
	go func() { done <- b.Release(t.Context()) }()
	for _, cp := range []*cpFunction{good, lazy} {
		ask := await[*pfcp.AssociationUpdateRequest](t, cp, 0)
		if ask.AssociationRelease != pfcp.AssociationReleaseSARR || ask.GracefulReleasePeriod.Value.Duration() != 2*time.Second {
			t.Errorf("update request %+v", ask)
		}
	}
	var est pfcp.SessionEstablishmentResponse
	if c.do(0, usual("127.0.0.2", "10.45.0.9"), &est); est.Cause.Accepted() {
		t.Errorf("a session while the association is about to be released: %v", est.Cause)
	}
	if got := c.associate("10.4.0.9", recoveryTime); got.Accepted() {
		t.Errorf("an association while the UP function is about to stop: %v", got)
	}
	var r pfcp.AssociationReleaseResponse
	if c.do(0, &pfcp.AssociationReleaseRequest{NodeID: pfcp.NodeID{Addr: good.addr}}, &r); r.Cause != pfcp.CauseRequestAccepted {
		t.Errorf("release: %v", r.Cause)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := b.sessions.Len(); n != 0 || len(b.Associations()) != 0 || len(b.driver.held()) != 0 {
		t.Errorf("%d sessions, associations %+v", n, b.Associations())
	}
}

// node is the address that the client sends from.
func (c *client) node() string { return c.conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().String() }

// TestFeaturesChange: CP functions are told when the UP function's features
// change, and who did not hear it is told after the next heartbeat.
func TestFeaturesChange(t *testing.T) {
	p := port(t)
	cp := newCPFunction(t, "127.0.0.2", p)
	b := newBed(t, Config{PeerPort: p, HeartbeatInterval: 20 * time.Millisecond, T1: 20 * time.Millisecond, N1: 2})
	c := b.client(t, "127.0.0.2")
	c.associate("127.0.0.2", cp.recovery.Time())
	b.SetCapabilities(Capabilities{}) // no change
	b.SetCapabilities(Capabilities{Capabilities: &api.Capabilities{EndMarker: true}})
	if got := await[*pfcp.AssociationUpdateRequest](t, cp, 0).UPFunctionFeatures.Value; got&pfcp.UPFeatureEMPU == 0 {
		t.Errorf("features %#x, want EMPU", got)
	}
	cp.set(func(f *cpFunction) { f.silent, f.got = true, nil })
	b.SetCapabilities(Capabilities{})
	await[*pfcp.AssociationUpdateRequest](t, cp, 1) // repeated, not answered
	cp.set(func(f *cpFunction) { f.silent, f.got = false, nil })
	if got := await[*pfcp.AssociationUpdateRequest](t, cp, 0).UPFunctionFeatures.Value; got&pfcp.UPFeatureEMPU != 0 {
		t.Errorf("features %#x, want no EMPU", got)
	}
}
