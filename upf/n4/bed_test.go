package n4

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/rules"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// fakeDriver is a datapath that records what it holds, and refuses what it cannot do,
// and a rule when told to.
type fakeDriver struct {
	can      *api.Capabilities // nil: it takes all
	mu       sync.Mutex
	sessions map[uint64]*api.Session
	changes  int
	markers  []*api.EndMarker // End Markers of the last change
	packets  uint64           // of a session
	failPDR  uint32           // refuse this PDR; 0: none
	hold     chan struct{}    // changes wait until it is closed; nil: they do not
}

func (d *fakeDriver) Capabilities() *api.Capabilities { return d.can }

var errRefused = errors.New("told to refuse")

func (d *fakeDriver) Apply(_ context.Context, c *api.Change) error {
	if err := datapath.Check(c, d.can); d.can != nil && err != nil {
		return err
	}
	d.mu.Lock()
	hold := d.hold
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range c.GetSession().GetRules() {
		if d.failPDR != 0 && r.PdrId == d.failPDR {
			return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: r.PdrId, Err: errRefused}
		}
	}
	d.changes++
	d.markers = nil
	for _, m := range c.EndMarkers {
		d.markers = append(d.markers, proto.CloneOf(m))
	}
	if c.Session == nil {
		delete(d.sessions, c.Seid)
	} else {
		d.sessions[c.Seid] = proto.Clone(c.Session).(*api.Session)
	}
	return nil
}

// Usage says that each URR has counted 1000 octets uplink, in 10 packets, and 3000
// downlink, in 20.
func (d *fakeDriver) Usage(seid uint64) (*api.SessionUsage, error) {
	s := d.held()[seid]
	if s == nil {
		return nil, datapath.ErrNoSession
	}
	u := &api.SessionUsage{Rules: []*api.Usage{{PdrId: 1, Packets: d.counted()}}}
	for _, r := range s.Urrs {
		u.Urrs = append(u.Urrs, &api.URRUsage{
			UrrId: r.Id, UplinkOctets: 1000, DownlinkOctets: 3000, UplinkPackets: 10, DownlinkPackets: 20,
		})
	}
	return u, nil
}
func (d *fakeDriver) Drops() (map[string]uint64, error) { return nil, nil }
func (d *fakeDriver) Close() error                      { return nil }

func (d *fakeDriver) held() map[uint64]*api.Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := make(map[uint64]*api.Session, len(d.sessions))
	for k, v := range d.sessions {
		m[k] = v
	}
	return m
}

// count adds to the packets of each session.
func (d *fakeDriver) count(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.packets += n
}

func (d *fakeDriver) counted() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.packets
}

// changed is how many changes the datapath has taken.
func (d *fakeDriver) changed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// ended are the End Markers of the last change.
func (d *fakeDriver) ended() []*api.EndMarker {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.markers
}

func (d *fakeDriver) refuse(pdr uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failPDR = pdr
}

// n3Addr is what the simple PFCP client has as the UPF's N3 address.
var n3Addr = session.IPv4{192, 168, 13, 151}

// n9Addr is where F-TEIDs of Network Instance "n9" are.
var n9Addr = session.IPv4{192, 168, 13, 152}

var recoveryTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// usualDatapath is what a datapath can do that most sessions can be on, ableDatapath
// what one can do that can do all.
var (
	usualDatapath = &api.Capabilities{
		N3Ipv4: fakeEndpoints, N3Ipv6: [][]byte{make([]byte, 16)},
		TunnelToTunnel: true, Filters: true, Usage: true, Buffering: true, EndMarker: true, Gbr: true, ContainerDeletion: true,
	}
	ableDatapath = &api.Capabilities{
		N3Ipv4: fakeEndpoints, N3Ipv6: [][]byte{make([]byte, 16)}, ForwardingPolicies: []string{"gold"},
		TunnelToTunnel: true, Filters: true, Usage: true, Buffering: true, EndMarker: true, FramedRoutes: true, Hosts: true, Marking: true,
		PacketRate: true, Gbr: true, Duplicate: true, Redirect: true, Ethernet: true, Unstructured: true, Encapsulations: true,
		BeforeEnforcement: true, ContainerDeletion: true, Replacement: true,
	}
	// fakeEndpoints are where the fake datapaths of all tests terminate GTP-U.
	fakeEndpoints = []uint32{binary.BigEndian.Uint32(n3Addr[:]), binary.BigEndian.Uint32(n9Addr[:]), 0x0a030001, 0x0a090001}
)

// newManager returns a manager over a fake datapath at the end of a bus.
func newManager(t testing.TB, maxSessions int) (*session.Manager, *fakeDriver) {
	t.Helper()
	return newManagerOver(t, maxSessions, usualDatapath)
}

// newManagerOver returns one over a fake datapath that can do what can says.
func newManagerOver(t testing.TB, maxSessions int, can *api.Capabilities) (*session.Manager, *fakeDriver) {
	t.Helper()
	d := &fakeDriver{can: can, sessions: make(map[uint64]*api.Session)}
	m, err := session.NewManager(session.Config{
		MaxSessions: maxSessions,
		Endpoints:   []session.Endpoint{{IPv4: n3Addr}, {IPv4: n9Addr, NetworkInstances: []string{"n9"}}},
		Pools: []session.Pool{{Name: "internet", Prefixes: []netip.Prefix{
			netip.MustParsePrefix("10.60.0.0/24"), netip.MustParsePrefix("2001:db8:60::/48")}}},
	}, rules.Compiler{Bus: bus.InProcess{Driver: d}})
	if err != nil {
		t.Fatal(err)
	}
	return m, d
}

// bed is an endpoint on a loopback socket.
type bed struct {
	*Endpoint
	driver *fakeDriver
}

// It waits long for associations to end, so that what a test sees does not
// depend on how busy the machine is.
func newBed(t testing.TB, c Config) *bed {
	t.Helper()
	return newBedWith(t, c, time.Minute)
}

func newBedWith(t testing.TB, c Config, patience time.Duration) *bed {
	t.Helper()
	return newBedFrom(t, c, patience, func(*Endpoint) {})
}

// newBedFrom returns a bed whose endpoint is prepared before it serves.
func newBedFrom(t testing.TB, c Config, patience time.Duration, prepare func(*Endpoint)) *bed {
	t.Helper()
	m, d := newManager(t, 4096)
	return newBedAt(t, c, patience, prepare, m, d)
}

// newWillingBed returns a bed over a datapath that takes all.
func newWillingBed(t testing.TB, c Config) *bed {
	t.Helper()
	m, d := newManagerOver(t, 4096, nil)
	return newBedAt(t, c, time.Minute, func(*Endpoint) {}, m, d)
}

func newBedAt(t testing.TB, c Config, patience time.Duration, prepare func(*Endpoint), m *session.Manager, d *fakeDriver) *bed {
	t.Helper()
	if !c.Listen.IsValid() {
		c.Listen = netip.MustParseAddrPort("127.0.0.1:0")
	}
	c.RecoveryTime = recoveryTime
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e, err := Listen(c, m)
	if err != nil {
		t.Fatal(err)
	}
	e.patience = patience
	prepare(e)
	done := make(chan error, 1)
	go func() { done <- e.Serve() }()
	t.Cleanup(func() {
		e.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve: %v, want %v", err, ErrClosed)
		}
	})
	return &bed{e, d}
}

// client is a CP function with a socket.
type client struct {
	t    testing.TB
	conn *net.UDPConn
	seq  uint32
}

// client returns a CP function at the given loopback address.
func (b *bed) client(t testing.TB, from string) *client {
	t.Helper()
	conn, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0)),
		net.UDPAddrFromAddrPort(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, conn: conn}
}

// ask sends octets and returns the octets that come back.
func (c *client) ask(datagram []byte) []byte {
	c.t.Helper()
	c.send(datagram)
	return c.receive(5 * time.Second)
}

func (c *client) send(datagram []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(datagram); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next datagram; it fails the test if none comes in time.
func (c *client) receive(wait time.Duration) []byte {
	c.t.Helper()
	buf := make([]byte, 65536)
	if err := c.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		c.t.Fatal(err)
	}
	n, err := c.conn.Read(buf)
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	return buf[:n]
}

// do sends a request and decodes its response into r. It returns the header.
func (c *client) do(seid uint64, m, r pfcp.Message) pfcp.Header {
	c.t.Helper()
	c.seq++
	datagram, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: c.seq}, m)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.decode(c.ask(datagram), r)
}

func (c *client) decode(datagram []byte, r pfcp.Message) pfcp.Header {
	c.t.Helper()
	h, body, rest, err := pfcp.Parse(datagram)
	if err != nil || len(rest) > 0 || h.Type != r.MessageType() {
		c.t.Fatalf("response %x: %v, want %v", datagram, err, r.MessageType())
	}
	if err := r.Decode(body); err != nil {
		c.t.Fatalf("response %x: %v", datagram, err)
	}
	if h.Sequence != c.seq {
		c.t.Errorf("sequence number %d, want %d", h.Sequence, c.seq)
	}
	return h
}

// associate sets up an association in the name of node.
func (c *client) associate(node string, recovery time.Time) pfcp.Cause {
	c.t.Helper()
	var r pfcp.AssociationSetupResponse
	c.do(0, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(node)}, RecoveryTimeStamp: pfcp.NewTimeStamp(recovery),
	}, &r)
	return r.Cause
}

// heartbeat fails unless a heartbeat is answered.
func (c *client) heartbeat() {
	c.t.Helper()
	var r pfcp.HeartbeatResponse
	c.do(0, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}, &r)
	if want := pfcp.NewTimeStamp(recoveryTime); r.RecoveryTimeStamp != want {
		c.t.Errorf("Recovery Time Stamp %d, want %d", r.RecoveryTimeStamp, want)
	}
}

// usual is an establishment of the usual shape: PDR 1 from Core, PDR 2 from
// Access with an F-TEID to be chosen, a FAR each, one QER.
func usual(node string, ue string) *pfcp.SessionEstablishmentRequest {
	addr := netip.MustParseAddr(ue)
	return &pfcp.SessionEstablishmentRequest{
		NodeID:  pfcp.NodeID{Addr: netip.MustParseAddr(node)},
		CPFSEID: pfcp.FSEID{SEID: 0x1000 + uint64(addr.As4()[3]), IPv4: netip.MustParseAddr(node)},
		CreatePDRs: []pfcp.CreatePDR{
			{
				PDRID: 1, Precedence: 255, FARID: pfcp.Some(uint32(1)), QERIDs: []uint32{1},
				PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceCore, NetworkInstance: pfcp.NewName("internet"),
					UEIPAddresses: []pfcp.UEIPAddress{{Destination: true, IPv4: addr}}},
			},
			{
				PDRID: 2, Precedence: 255, FARID: pfcp.Some(uint32(2)), QERIDs: []uint32{1},
				OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIP}),
				PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceAccess, FTEID: pfcp.Some(pfcp.FTEID{CH: true, V4: true}),
					QFIs:          pfcp.NewQFISet(9),
					SDFFilters:    []pfcp.SDFFilter{{FlowDescription: []byte("permit out ip from any to assigned")}},
					UEIPAddresses: []pfcp.UEIPAddress{{IPv4: addr}}},
			},
		},
		CreateFARs: []pfcp.CreateFAR{
			{FARID: 1, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
				DestinationInterface:  pfcp.InterfaceAccess,
				TransportLevelMarking: pfcp.Some(pfcp.TransportLevelMarking{Value: 0xb8, Mask: 0xfc}),
				OuterHeaderCreation: pfcp.Some(pfcp.OuterHeaderCreation{
					Description: pfcp.CreateGTPUUDPIPv4, TEID: 0x22, IPv4: netip.MustParseAddr("192.168.13.131")}),
			})},
			{FARID: 2, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
				DestinationInterface: pfcp.InterfaceCore})},
		},
		CreateQERs: []pfcp.CreateQER{{
			QERID: 1, QFI: pfcp.Some(pfcp.QFI(9)),
			MBR: pfcp.Some(pfcp.BitRates{UplinkKbps: 100_000, DownlinkKbps: 200_000}),
			GBR: pfcp.Some(pfcp.BitRates{UplinkKbps: 1000, DownlinkKbps: 1000}),
		}},
		PDNType: pfcp.Some(pfcp.PDNTypeIPv4),
	}
}

// establish establishes a session and returns the response; it fails if that
// is not accepted.
func (c *client) establish(m *pfcp.SessionEstablishmentRequest) pfcp.SessionEstablishmentResponse {
	c.t.Helper()
	var r pfcp.SessionEstablishmentResponse
	h := c.do(0, m, &r)
	if r.Cause != pfcp.CauseRequestAccepted || h.SEID != m.CPFSEID.SEID {
		c.t.Fatalf("establishment: %v, SEID %#x; want accepted and %#x", r.Cause, h.SEID, m.CPFSEID.SEID)
	}
	return r
}

// eventually waits for something that another goroutine does.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for range 1000 {
		if f() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal(fmt.Sprint("not within 5 s: ", what))
}

func (*fakeDriver) Next(ctx context.Context) (*api.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (*fakeDriver) Settle(context.Context) error { return nil }
