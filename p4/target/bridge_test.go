package target

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/p4/p4rt"
	"github.com/plumbline-upf/plumbline/p4/port"
)

// bridge is the program of the tests.
func bridge(t testing.TB) *p4.ForwardingPipelineConfig {
	t.Helper()
	json, err := os.ReadFile("testdata/bridge.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/bridge.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	p := &info.P4Info{}
	if err := prototext.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return &p4.ForwardingPipelineConfig{P4Info: p, P4DeviceConfig: json}
}

// fakePort is a port whose frames a test makes and takes.
type fakePort struct {
	name  string
	fd    int
	mu    sync.Mutex
	in    [][]byte
	count int
	out   chan []byte
}

func newFakePort(t testing.TB, name string) *fakePort {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return &fakePort{name: name, fd: fd, out: make(chan []byte, 4096)}
}

func (p *fakePort) Name() string                    { return p.name }
func (p *fakePort) Mode() port.Mode                 { return port.ModePacket }
func (p *fakePort) Receiver(int) port.Receiver      { return p }
func (p *fakePort) NewSender() (port.Sender, error) { return &fakeSender{port: p}, nil }
func (p *fakePort) Stats() port.Stats               { return port.Stats{} }
func (p *fakePort) Close() error                    { return nil }
func (p *fakePort) Descriptor() int                 { return p.fd }
func (p *fakePort) Woken()                          {}
func (p *fakePort) Release()                        {}

// come has a frame come in.
func (p *fakePort) come(frame []byte) {
	p.mu.Lock()
	p.in = append(p.in, frame)
	p.mu.Unlock()
	_, _ = unix.Write(p.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// room is what every second frame has free in front, in the tests; the others have nothing.
const room = 8

func (p *fakePort) Receive(frames []port.Frame) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b [8]byte
	_, _ = unix.Read(p.fd, b[:])
	n := min(len(frames), len(p.in))
	for i := range n {
		p.count++
		free := p.count % 2 * room
		buf := append(make([]byte, free), p.in[i]...)
		frames[i] = port.Frame{Buf: buf, Start: free, End: len(buf)}
	}
	p.in = p.in[n:]
	return n
}

type fakeSender struct {
	port *fakePort
	b    [][]byte
}

func (s *fakeSender) Send(b []byte) { s.b = append(s.b, b) }

func (s *fakeSender) Flush() {
	for _, b := range s.b {
		s.port.out <- bytes.Clone(b)
	}
	s.b = nil
}

// want compares the next frame that leaves.
func (p *fakePort) want(t testing.TB, hexadecimal string) {
	t.Helper()
	select {
	case got := <-p.out:
		if !bytes.Equal(got, octets(hexadecimal)) {
			t.Errorf("port %s: got %x, want %x", p.name, got, octets(hexadecimal))
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("port %s: no frame, want %x", p.name, octets(hexadecimal))
	}
}

func (p *fakePort) wantNone(t testing.TB) {
	t.Helper()
	select {
	case got := <-p.out:
		t.Errorf("port %s: got %x, want nothing", p.name, got)
	default:
	}
}

func octets(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// rig is a switch with two ports and the bridge, and its primary controller.
type rig struct {
	*Switch
	server *p4rt.Server
	client p4.P4RuntimeClient
	stream p4.P4Runtime_StreamChannelClient
	ports  map[uint32]*fakePort
	ids    map[string]uint32
}

func newRig(t testing.TB, workers int) *rig {
	t.Helper()
	r := &rig{ports: map[uint32]*fakePort{1: newFakePort(t, "one"), 2: newFakePort(t, "two"), 3: newFakePort(t, "three")}, ids: map[string]uint32{}}
	ports := map[uint32]port.Port{}
	for n, p := range r.ports {
		ports[n] = p
	}
	r.run(t, workers, ports)
	return r
}

// run begins a switch with the bridge, and connects its controller.
func (r *rig) run(t testing.TB, workers int, ports map[uint32]port.Port) {
	t.Helper()
	var err error
	if r.Switch, err = New(Config{Ports: ports, CPUPort: 510, Workers: workers}); err != nil {
		t.Fatal(err)
	}
	r.server = p4rt.New(p4rt.Config{DeviceID: 1}, r.Switch, slog.New(slog.DiscardHandler))
	r.Start(r.server)
	t.Cleanup(func() {
		r.server.Close()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := r.server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	r.client = p4.NewP4RuntimeClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	if r.stream, err = r.client.StreamChannel(ctx); err != nil {
		t.Fatal(err)
	}
	id := &p4.Uint128{Low: 1}
	if err := r.stream.Send(&p4.StreamMessageRequest{Update: &p4.StreamMessageRequest_Arbitration{
		Arbitration: &p4.MasterArbitrationUpdate{DeviceId: 1, ElectionId: id}}}); err != nil {
		t.Fatal(err)
	}
	r.told(t)
	c := bridge(t)
	if _, err := r.client.SetForwardingPipelineConfig(ctx, &p4.SetForwardingPipelineConfigRequest{
		DeviceId: 1, ElectionId: id, Config: c, Action: p4.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT}); err != nil {
		t.Fatal(err)
	}
	r.know(c.GetP4Info())
}

// know has names stand for the ids of P4Info, in the texts of the tests.
func (r *rig) know(p *info.P4Info) {
	add := func(kind string, x *info.Preamble) { r.ids["@"+kind+":"+x.GetAlias()+"@"] = x.GetId() }
	for _, x := range p.GetTables() {
		add("table", x.GetPreamble())
	}
	for _, x := range p.GetActions() {
		add("action", x.GetPreamble())
	}
	for _, x := range p.GetCounters() {
		add("counter", x.GetPreamble())
	}
	for _, x := range p.GetMeters() {
		add("meter", x.GetPreamble())
	}
	for _, x := range p.GetRegisters() {
		add("register", x.GetPreamble())
	}
	for _, x := range p.GetDigests() {
		add("digest", x.GetPreamble())
	}
}

func (r *rig) parse(t testing.TB, text string, m proto.Message) {
	t.Helper()
	for name, id := range r.ids {
		text = strings.ReplaceAll(text, name, uint32Text(id))
	}
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func uint32Text(v uint32) string {
	return "0x" + hex.EncodeToString([]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// write does updates of type INSERT unless they say otherwise.
func (r *rig) write(t testing.TB, entities ...string) error {
	t.Helper()
	m := &p4.WriteRequest{}
	text := ""
	for _, e := range entities {
		kind := "INSERT"
		if before, after, ok := strings.Cut(e, "! "); ok {
			kind, e = before, after
		}
		text += "updates { type: " + kind + " entity { " + e + " } } "
	}
	r.parse(t, text, m)
	m.DeviceId, m.ElectionId = 1, &p4.Uint128{Low: 1}
	_, err := r.client.Write(t.Context(), m)
	if err != nil {
		err = errors.New(err.Error() + prototext.Format(status.Convert(err).Proto()))
	}
	return err
}

func (r *rig) mustWrite(t testing.TB, entities ...string) {
	t.Helper()
	if err := r.write(t, entities...); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) told(t testing.TB) *p4.StreamMessageResponse {
	t.Helper()
	m, err := r.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// read compares what is read, in any order.
func (r *rig) wantRead(t testing.TB, ask string, want ...string) {
	t.Helper()
	q := &p4.ReadRequest{}
	r.parse(t, "entities { "+ask+" }", q)
	q.DeviceId = 1
	stream, err := r.client.Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var got []*p4.Entity
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.GetEntities()...)
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d entities, want %d: %v", ask, len(got), len(want), got)
	}
	for _, text := range want {
		e := &p4.Entity{}
		r.parse(t, text, e)
		found := false
		for _, g := range got {
			found = found || proto.Equal(g, e)
		}
		if !found {
			t.Errorf("%s: got %v, want %v", ask, got, e)
		}
	}
}
