package p4

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// wantErr states that an error says these things, and not those of the gRPC connection.
func wantErr(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", says)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%v: want %q in it", err, s)
		}
	}
	if strings.Contains(err.Error(), "connection is closing") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q says what does not matter", err)
	}
}

func TestConnect(t *testing.T) {
	other := &p4rt.ForwardingPipelineConfig{
		P4Info: &info.P4Info{Tables: []*info.Table{{}}}, Cookie: &p4rt.ForwardingPipelineConfig_Cookie{Cookie: 0xbeef},
	}
	ours := &p4rt.ForwardingPipelineConfig{Cookie: &p4rt.ForwardingPipelineConfig_Cookie{Cookie: ourPipeline(t).cookie}}
	for _, tt := range []struct {
		name    string
		fake    *fake
		replace bool
		says    []string // none: connected
		kept    bool
	}{
		{name: "no pipeline", fake: &fake{configErr: status.Error(codes.FailedPrecondition, "none")}},
		{name: "empty pipeline", fake: &fake{config: &p4rt.ForwardingPipelineConfig{}}},
		{name: "ours", fake: &fake{config: ours}, kept: true},
		{name: "another one", fake: &fake{config: other}, says: []string{"device 7", "another pipeline", "0xbeef", "p4.replace"}},
		{name: "another one, to be replaced", fake: &fake{config: other}, replace: true},
		{name: "device that is not there", fake: &fake{configErr: status.Error(codes.PermissionDenied, "no device 7")}, says: []string{"pipeline of device 7", "no device 7"}},
		{
			name: "another controller",
			fake: &fake{arbitrate: func(s p4rt.P4Runtime_StreamChannelServer) error {
				return s.Send(arbitrated(int32(codes.AlreadyExists)))
			}},
			says: []string{"another controller", "device 7", "election id 42", "p4.election_id"},
		},
		{
			name: "the stream is refused",
			fake: &fake{arbitrate: func(p4rt.P4Runtime_StreamChannelServer) error { return status.Error(codes.NotFound, "no device 7") }},
			says: []string{"stream", "no device 7"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := connect(t.Context(), tt.fake.dial(t), 7, 1, ourPipeline(t), tt.replace, nil)
			if len(tt.says) > 0 {
				wantErr(t, err, tt.says...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.kept != tt.kept {
				t.Errorf("kept %v, want %v", c.kept, tt.kept)
			}
			if err := c.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConnectInTime: a target that does not answer keeps nobody for longer than he waits.
func TestConnectInTime(t *testing.T) {
	silent := &fake{arbitrate: func(s p4rt.P4Runtime_StreamChannelServer) error { <-s.Context().Done(); return nil }}
	ours, far := net.Pipe() // takes no octet
	t.Cleanup(func() { _, _ = ours.Close(), far.Close() })
	for name, conn := range map[string]func(t *testing.T) (says string, err error){
		"no answer": func(t *testing.T) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := connect(ctx, silent.dial(t), 7, 1, ourPipeline(t), false, nil)
			return "no answer to the arbitration", err
		},
		"no server": func(t *testing.T) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			conn := dialed(t, func(context.Context, string) (net.Conn, error) { return ours, nil })
			_, err := connect(ctx, conn, 7, 1, ourPipeline(t), false, nil)
			return "no answer", err
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			says, err := conn(t)
			wantErr(t, err, says)
			if took := time.Since(start); took > callTime {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestConnectRemote: what a target outside of the process says is said with its address.
func TestConnectRemote(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := &Target{Address: l.Addr().String(), DeviceID: localDevice, ElectionID: 1}
	r := &remote{log: slog.New(slog.DiscardHandler), target: target}
	at := newLocal(func() uint64 { return 0 }, r.log)
	go func() { _ = at.server.Serve(l) }()
	stop := sync.OnceFunc(at.server.Close)
	t.Cleanup(stop)
	program, _ := compiled.V1Model()
	other := &pipeline{program: append(program, '\n'), info: ourPipeline(t).info, cookie: 0xbeef}
	if err := at.server.SetPipeline(&p4rt.ForwardingPipelineConfig{
		P4Info: other.info, P4DeviceConfig: other.program, Cookie: &p4rt.ForwardingPipelineConfig_Cookie{Cookie: other.cookie},
	}); err != nil {
		t.Fatal(err)
	}
	_, err = r.connect(t.Context(), ourPipeline(t))
	wantErr(t, err, "target "+target.Address, "another pipeline", "p4.replace")
	target.Replace, target.ElectionID = true, 3 // another one: the server may not have seen yet that the first stream has ended
	c, err := r.connect(t.Context(), ourPipeline(t))
	if err != nil {
		t.Fatal(err)
	}
	target.ElectionID = 2
	_, err = r.connect(t.Context(), ourPipeline(t))
	wantErr(t, err, "target "+target.Address, "another controller", "election id 3", "p4.election_id")
	target.ElectionID = 4
	second, err := r.connect(t.Context(), ourPipeline(t))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.ended:
		wantErr(t, c.why, "another controller", "election id 4")
	case <-time.After(callTime):
		t.Error("the first one is not told that it is the primary no more")
	}
	_, err = c.write(t.Context(), []*p4rt.Update{{Type: p4rt.Update_DELETE}})
	wantErr(t, err, "write 1 updates", "PermissionDenied")
	if err := errors.Join(c.close(), second.setPipeline(t.Context(), &pipeline{info: &info.P4Info{}, cookie: 9}), second.close()); err == nil {
		t.Error("a pipeline without a program is taken")
	}
	stop()
	_, err = r.connect(t.Context(), ourPipeline(t))
	wantErr(t, err, "target "+target.Address, "refused")
}

// TestWrite: what a target says of updates.
func TestWrite(t *testing.T) {
	detail := func(all ...codes.Code) error {
		st := status.New(codes.Unknown, "some")
		for _, c := range all {
			st, _ = st.WithDetails(&p4rt.Error{CanonicalCode: int32(c), Message: "because"})
		}
		return st.Err()
	}
	f := &fake{configErr: status.Error(codes.FailedPrecondition, "none")}
	c := f.client(t)
	updates := []*p4rt.Update{{}, {}, {}}
	for _, tt := range []struct {
		name    string
		err     error
		refused map[int]string
		says    []string
	}{
		{name: "all"},
		{name: "some", err: detail(codes.OK, codes.ResourceExhausted, codes.AlreadyExists), refused: map[int]string{1: "because: " + datapath.ErrFull.Error(), 2: "because (AlreadyExists)"}},
		{name: "details of others", err: detail(codes.OK, codes.NotFound), says: []string{"write 3 updates", "some"}},
		{name: "as a whole", err: status.Error(codes.PermissionDenied, "not the primary"), says: []string{"write 3 updates", "not the primary"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.writes(func(context.Context, *p4rt.WriteRequest) error { return tt.err })
			refused, err := c.write(t.Context(), updates)
			if len(tt.says) > 0 {
				wantErr(t, err, tt.says...)
				return
			}
			if err != nil || len(refused) != len(tt.refused) {
				t.Fatalf("%v, %v, want %v", refused, err, tt.refused)
			}
			for i, want := range tt.refused {
				if got := refused[i]; got == nil || got.Error() != want || errors.Is(got, datapath.ErrFull) != strings.Contains(want, datapath.ErrFull.Error()) {
					t.Errorf("update %d: %v, want %s", i, got, want)
				}
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		f.writes(func(ctx context.Context, _ *p4rt.WriteRequest) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.write(ctx, updates)
		wantErr(t, err, "write 3 updates", "DeadlineExceeded")
	})
	t.Run("it goes meanwhile", func(t *testing.T) {
		f.writes(func(ctx context.Context, _ *p4rt.WriteRequest) error {
			go f.server.Stop()
			<-ctx.Done()
			return ctx.Err()
		})
		_, err := c.write(t.Context(), updates)
		wantErr(t, err, "write 3 updates", "Unavailable")
		select {
		case <-c.ended:
			wantErr(t, c.why, "stream")
		case <-time.After(callTime):
			t.Error("the end of the stream is not seen")
		}
	})
}

// TestRead: counters come in any parts, and all of them.
func TestRead(t *testing.T) {
	f := &fake{configErr: status.Error(codes.FailedPrecondition, "none")}
	c := f.client(t)
	answer := func(r *p4rt.ReadRequest, from, to int) *p4rt.ReadResponse {
		m := &p4rt.ReadResponse{}
		for _, e := range r.GetEntities()[from:to] {
			e = proto.CloneOf(e)
			n := e.GetCounterEntry().GetIndex().GetIndex()
			e.GetCounterEntry().Data = &p4rt.CounterData{PacketCount: n, ByteCount: 100 * n}
			m.Entities = append(m.Entities, e)
		}
		return m
	}
	var cells []cell
	for i := range uint32(maxCells + 10) {
		cells = append(cells, cell{5, i})
	}
	f.read = func(r *p4rt.ReadRequest, s p4rt.P4Runtime_ReadServer) error {
		n := len(r.GetEntities())
		return errors.Join(s.Send(answer(r, 0, n/2)), s.Send(answer(r, n/2, n)))
	}
	got, err := c.read(t.Context(), cells)
	if err != nil || len(got) != len(cells) {
		t.Fatalf("%d cells, %v, want %d", len(got), err, len(cells))
	}
	for _, one := range cells {
		if want := (count{uint64(one.index), 100 * uint64(one.index)}); got[one] != want {
			t.Fatalf("cell %v: %v, want %v", one, got[one], want)
		}
	}
	f.read = func(r *p4rt.ReadRequest, s p4rt.P4Runtime_ReadServer) error { return s.Send(answer(r, 0, 3)) }
	_, err = c.read(t.Context(), cells[:5])
	wantErr(t, err, "read 5 counters", "3 came")
	f.read = func(*p4rt.ReadRequest, p4rt.P4Runtime_ReadServer) error {
		return status.Error(codes.Internal, "broken")
	}
	_, err = c.read(t.Context(), cells[:5])
	wantErr(t, err, "read 5 counters", "broken")
}

// TestSchema: a pipeline that lacks what the driver asks for is refused, with its name.
func TestSchema(t *testing.T) {
	whole := ourPipeline(t).info
	for name := range wanted {
		p := proto.CloneOf(whole)
		for i, table := range p.GetTables() {
			if table.GetPreamble().GetAlias() == name {
				p.Tables = append(p.Tables[:i:i], p.Tables[i+1:]...)
				break
			}
		}
		_, err := newSchema(p)
		wantErr(t, err, "no table "+name)
	}
	for _, tt := range []struct {
		name   string
		change func(p *info.P4Info)
		says   string
	}{
		{"key", func(p *info.P4Info) { p.Tables[0].MatchFields = p.Tables[0].MatchFields[1:] }, "match fields"},
		{"action", func(p *info.P4Info) { p.Tables[0].ActionRefs[0].Id++ }, "no action"},
		{"parameter", func(p *info.P4Info) {
			for _, a := range p.GetActions() {
				a.Params = nil
			}
		}, "parameters"},
		{"counter", func(p *info.P4Info) { p.Counters = nil }, "no counter"},
		{"metadata", func(p *info.P4Info) { p.ControllerPacketMetadata = p.ControllerPacketMetadata[:1] }, "packet_out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := proto.CloneOf(whole)
			tt.change(p)
			_, err := newSchema(p)
			wantErr(t, err, "P4Info", tt.says)
		})
	}
	if _, err := newPipeline(nil, []byte("tables {")); err == nil {
		t.Error("P4Info that is none is taken")
	}
}
