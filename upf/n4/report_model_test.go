package n4

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/rules"
	"github.com/plumbline-upf/plumbline/upf/session"
	"github.com/plumbline-upf/plumbline/upf/store"
)

// goCP is a CP function made of go-pfcp, with an endpoint over the model datapath.
type goCP struct {
	t        *testing.T
	conn     *net.UDPConn
	to       *net.UDPAddr
	upf      *stages.UPF
	endpoint *Endpoint
	seq      uint32
	t1       time.Duration
}

func newGoCP(t *testing.T) *goCP {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	n3 := netip.AddrFrom4(n3Addr)
	start := time.Now()
	upf := stages.New(stages.Config{
		Endpoints: []datapath.Endpoint{{Name: "n3", Address: n3}}, MaxSessions: 16,
		Now: func() uint64 { return uint64(time.Since(start)) },
	})
	return &goCP{t: t, conn: conn, upf: upf, t1: 300 * time.Millisecond}
}

// serve starts an endpoint over the datapath, with what was kept in the directory,
// and returns what ends it.
func (c *goCP) serve(dir string) (stop func()) {
	c.t.Helper()
	kept, err := store.OpenJournal(store.JournalConfig{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.t.Fatal(err)
	}
	compiler := rules.Compiler{Bus: bus.InProcess{Driver: c.upf}}
	m, err := session.NewManager(session.Config{
		MaxSessions: 16, Endpoints: []session.Endpoint{{IPv4: n3Addr}}, Store: kept,
	}, compiler)
	if err != nil {
		c.t.Fatal(err)
	}
	e, err := Listen(Config{
		Listen: netip.MustParseAddrPort("127.0.0.1:0"), PeerPort: uint16(c.conn.LocalAddr().(*net.UDPAddr).Port),
		T1: c.t1, N1: 20, Events: compiler, Store: kept, Log: slog.New(slog.DiscardHandler),
	}, m)
	if err != nil {
		c.t.Fatal(err)
	}
	loaded, err := m.Load(c.t.Context(), func(ctx context.Context, each func(byte, uint64, []byte) error) error {
		return kept.Load(ctx, func(kind byte, id uint64, record []byte) error {
			return errors.Join(e.Restore(kind, id, record), each(kind, id, record))
		})
	})
	if err := errors.Join(err, c.upf.Settle(c.t.Context())); err != nil || len(loaded.Failed) > 0 {
		c.t.Fatal(err, loaded.Failed)
	}
	done := make(chan error, 1)
	go func() { done <- e.Serve() }()
	c.to, c.endpoint = net.UDPAddrFromAddrPort(e.Addr()), e
	return func() {
		e.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			c.t.Errorf("Serve: %v, want %v", err, ErrClosed)
		}
		if err := kept.Close(); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *goCP) send(m message.Message) {
	c.t.Helper()
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.conn.WriteToUDP(b, c.to); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next datagram, and what go-pfcp makes of it.
func (c *goCP) receive() ([]byte, message.Message) {
	c.t.Helper()
	buf := make([]byte, 65536)
	if err := c.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	n, err := c.conn.Read(buf)
	if err != nil {
		c.t.Fatalf("nothing comes: %v", err)
	}
	m, err := message.Parse(buf[:n])
	if err != nil {
		c.t.Fatalf("%x: %v", buf[:n], err)
	}
	return buf[:n], m
}

// ask sends a request and returns its response; reports that come meanwhile are
// answered.
func (c *goCP) ask(m message.Message) message.Message {
	c.t.Helper()
	c.send(m)
	for {
		_, r := c.receive()
		if report, ok := r.(*message.SessionReportRequest); ok {
			c.accept(report)
			continue
		}
		if r.Sequence() == m.Sequence() {
			return r
		}
	}
}

// report returns the next Session Report Request, and its octets.
func (c *goCP) report() ([]byte, *message.SessionReportRequest) {
	c.t.Helper()
	for {
		b, m := c.receive()
		if r, ok := m.(*message.SessionReportRequest); ok {
			return b, r
		}
	}
}

func (c *goCP) accept(r *message.SessionReportRequest) {
	c.t.Helper()
	c.send(message.NewSessionReportResponse(0, 0, 0, r.Sequence(), 0, ie.NewCause(ie.CauseRequestAccepted)))
}

func (c *goCP) next() uint32 {
	c.seq++
	return c.seq
}

// downlink sends n packets of that many octets to the UE of [goCP.establish].
func (c *goCP) downlink(n, octets int) {
	c.t.Helper()
	c.downlinkTo(net.IPv4(10, 60, 0, 1), n, octets)
}

func (c *goCP) downlinkTo(ue net.IP, n, octets int) {
	c.t.Helper()
	buf := gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IPv4(8, 8, 8, 8), DstIP: ue, TOS: 46 << 2}
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4},
		ip, gopacket.Payload(make([]byte, octets-20))); err != nil {
		c.t.Fatal(err)
	}
	for range n {
		c.upf.FromN6(buf.Bytes())
	}
}

// establish sets up a session with a PDR from Core whose FAR forwards and whose
// URR has a threshold of 1000 octets; it returns its SEID.
func (c *goCP) establish() uint64 {
	c.t.Helper()
	c.associate()
	return c.session(net.IPv4(10, 60, 0, 1), 0xabcdef)
}

func (c *goCP) associate() {
	c.t.Helper()
	c.ask(message.NewAssociationSetupRequest(c.next(), ie.NewNodeID("127.0.0.1", "", ""), ie.NewRecoveryTimeStamp(time.Now())))
}

// session establishes a session for a UE.
func (c *goCP) session(ue net.IP, cpSEID uint64) uint64 {
	c.t.Helper()
	node := ie.NewNodeID("127.0.0.1", "", "")
	r := c.ask(message.NewSessionEstablishmentRequest(0, 0, 0, c.next(), 0, node,
		ie.NewFSEID(cpSEID, net.IPv4(127, 0, 0, 1), nil),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(2|4, ue.String(), "", 0, 0)),
			ie.NewFARID(1), ie.NewURRID(7), ie.NewQERID(1)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceAccess), ie.NewOuterHeaderCreation(0x100, 0x99, "10.3.0.9", "", 0, 0, 0))),
		ie.NewCreateURR(ie.NewURRID(7), ie.NewMeasurementMethod(0, 1, 1), ie.NewReportingTriggers(0x02, 0),
			ie.NewVolumeThreshold(1, 1000, 0, 0), ie.NewMeasurementInformation(0x18)),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewQFI(5)),
	)).(*message.SessionEstablishmentResponse)
	if v, err := r.Cause.Cause(); err != nil || v != ie.CauseRequestAccepted {
		c.t.Fatalf("establishment: cause %d, %v", v, err)
	}
	f, err := r.UPFSEID.FSEID()
	if err != nil {
		c.t.Fatal(err)
	}
	return f.SEID
}

// usage is what a test looks at of a Usage Report.
type usage struct {
	urr, seqn       uint32
	trigger         string // octets
	octets, packets uint64 // downlink; total is the same
}

func (c *goCP) usage(report *ie.IE) (u usage) {
	c.t.Helper()
	list, err := report.UsageReport()
	if err != nil {
		c.t.Fatal(err)
	}
	seen := 0
	for _, i := range list {
		switch i.Type {
		case ie.URRID:
			u.urr, err = i.URRID()
		case ie.URSEQN:
			u.seqn, err = i.URSEQN()
		case ie.UsageReportTrigger:
			u.trigger = string(i.Payload)
		case ie.VolumeMeasurement:
			var v *ie.VolumeMeasurementFields
			if v, err = i.VolumeMeasurement(); err == nil {
				u.octets, u.packets = v.DownlinkVolume, v.DownlinkNumberOfPackets
				if v.TotalVolume != u.octets || v.UplinkVolume != 0 || v.TotalNumberOfPackets != u.packets {
					c.t.Errorf("volume %+v", v)
				}
			}
		case ie.StartTime, ie.EndTime, ie.DurationMeasurement:
		default:
			c.t.Errorf("IE type %d", i.Type)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		seen++
	}
	if seen != 7 {
		c.t.Errorf("%d IEs, want 7", seen)
	}
	return u
}

func (c *goCP) check(what string, report *ie.IE, want usage) {
	c.t.Helper()
	if got := c.usage(report); got != want {
		c.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// TestReportsOfPackets: packets through the model datapath make reports, which
// go-pfcp reads: a threshold, a query, packets that are buffered, and what is left
// when the session is deleted. All of it together is what was sent.
func TestReportsOfPackets(t *testing.T) {
	c := newGoCP(t)
	defer c.serve(t.TempDir())()
	seid := c.establish()

	c.downlink(3, 400)
	first, r := c.report()
	if v, err := r.ReportType.ReportType(); err != nil || v != 0x02 || r.SEID() != 0xabcdef || len(r.UsageReport) != 1 {
		t.Fatalf("report type %#x, %v; SEID %#x; %d usage reports", v, err, r.SEID(), len(r.UsageReport))
	}
	again, _ := c.report() // nobody has answered
	if !bytes.Equal(first, again) {
		t.Errorf("repeated with other octets:\n%x\n%x", first, again)
	}
	c.accept(r)
	c.check("threshold", r.UsageReport[0], usage{urr: 7, seqn: 0, trigger: "\x02\x00\x00", octets: 1200, packets: 3})

	c.downlink(1, 500)
	m := c.ask(message.NewSessionModificationRequest(0, 0, seid, c.next(), 0, ie.NewQueryURR(ie.NewURRID(7)))).(*message.SessionModificationResponse)
	if len(m.UsageReport) != 1 {
		t.Fatalf("%d usage reports for a query", len(m.UsageReport))
	}
	c.check("query", m.UsageReport[0], usage{urr: 7, seqn: 1, trigger: "\x80\x00\x00", octets: 500, packets: 1})

	c.ask(message.NewSessionModificationRequest(0, 0, seid, c.next(), 0, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(4|8))))
	c.downlink(2, 300)
	_, r = c.report()
	c.accept(r)
	if v, err := r.ReportType.ReportType(); err != nil || v != 0x01 {
		t.Errorf("report type %#x, %v, want downlink data", v, err)
	}
	data, err := r.DownlinkDataReport.DownlinkDataReport()
	if err != nil || len(data) != 2 || data[0].Type != ie.PDRID || data[1].Type != ie.DownlinkDataServiceInformation {
		t.Fatalf("downlink data report %v, %v", data, err)
	}
	if id, err := data[0].PDRID(); err != nil || id != 1 {
		t.Errorf("PDR %d, %v", id, err)
	}
	if got := data[1].Payload; !bytes.Equal(got, []byte{0x03, 46, 5}) {
		t.Errorf("service information %x, want PPI 46 and QFI 5", got)
	}

	c.ask(message.NewSessionModificationRequest(0, 0, seid, c.next(), 0, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(2))))
	c.downlink(1, 100)
	d := c.ask(message.NewSessionDeletionRequest(0, 0, seid, c.next(), 0)).(*message.SessionDeletionResponse)
	if len(d.UsageReport) != 1 {
		t.Fatalf("%d usage reports for a deletion", len(d.UsageReport))
	}
	c.check("deletion", d.UsageReport[0], usage{urr: 7, seqn: 2, trigger: "\x00\x08\x00", octets: 700, packets: 3})
	eventually(t, "nothing more to tell", func() bool { return c.endpoint.ReportsWaiting() == 0 })
}

// TestDropBuffered: the answer to a downlink data report has what was buffered
// dropped (DROBU).
func TestDropBuffered(t *testing.T) {
	c := newGoCP(t)
	defer c.serve(t.TempDir())()
	seid := c.establish()
	c.ask(message.NewSessionModificationRequest(0, 0, seid, c.next(), 0, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(4|8))))
	c.downlink(2, 300)
	_, r := c.report()
	c.send(message.NewSessionReportResponse(0, 0, 0, r.Sequence(), 0, ie.NewCause(ie.CauseRequestAccepted), ie.NewPFCPSRRspFlags(1)))
	eventually(t, "answered and done", func() bool { return c.endpoint.ReportsWaiting() == 0 })
	c.ask(message.NewSessionModificationRequest(0, 0, seid, c.next(), 0, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(2))))
	c.downlink(1, 100)
	m := c.ask(message.NewSessionModificationRequest(0, 0, seid, c.next(), 0, ie.NewQueryURR(ie.NewURRID(7)))).(*message.SessionModificationResponse)
	if len(m.UsageReport) != 1 {
		t.Fatalf("%d usage reports for a query", len(m.UsageReport))
	}
	c.check("query", m.UsageReport[0], usage{urr: 7, seqn: 0, trigger: "\x80\x00\x00", octets: 100, packets: 1})
}
