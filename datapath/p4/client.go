package p4

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// client is a controller of a target, its primary.
type client struct {
	conn     *grpc.ClientConn
	rpc      p4rt.P4RuntimeClient
	device   uint64
	election *p4rt.Uint128
	schema   *schema
	stream   p4rt.P4Runtime_StreamChannelClient
	end      context.CancelFunc // of the stream
	ended    chan struct{}
	why      error                               // of the stream's end; written before ended is closed
	messages func(m *p4rt.StreamMessageResponse) // receives every message but arbitrations; may be nil
	kept     bool                                // the target ran the pipeline before, and may have entries and counts of it
}

// pipeline is what a target is given.
type pipeline struct {
	program []byte // what the target takes as device configuration
	info    *info.P4Info
	cookie  uint64
}

func newPipeline(program, p4info []byte) (*pipeline, error) {
	p := &pipeline{program: program, info: &info.P4Info{}}
	if err := prototext.Unmarshal(p4info, p.info); err != nil {
		return nil, fmt.Errorf("p4: P4Info: %w", err)
	}
	sum := sha256.Sum256(append(append([]byte{}, program...), p4info...))
	p.cookie = binary.BigEndian.Uint64(sum[:])
	return p, nil
}

// Bounds of calls.
const (
	callTime     = 5 * time.Second
	pipelineTime = 30 * time.Second
	maxMessage   = 64 << 20
)

// connect becomes the target's primary, which takes the pipeline next.
//
// Errors: with what is to be done about them. The connection stays the caller's.
func connect(ctx context.Context, conn *grpc.ClientConn, device, election uint64, p *pipeline, replace bool, messages func(*p4rt.StreamMessageResponse)) (*client, error) {
	return connectBy(ctx, conn, p4rt.NewP4RuntimeClient(conn), device, election, p, replace, messages)
}

// connectBy is connect for a client of the connection.
func connectBy(
	ctx context.Context, conn *grpc.ClientConn, rpc p4rt.P4RuntimeClient, device, election uint64, p *pipeline, replace bool, messages func(*p4rt.StreamMessageResponse),
) (*client, error) {
	c := &client{
		conn: conn, rpc: rpc, device: device, election: &p4rt.Uint128{Low: election},
		ended: make(chan struct{}), messages: messages,
	}
	var err error
	if c.schema, err = newSchema(p.info); err != nil {
		return nil, err
	}
	if err := c.arbitrate(ctx); err != nil {
		return nil, err
	}
	if err := c.check(ctx, p, replace); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// arbitrate opens the stream and asks to be the primary.
// Source: P4Runtime 1.4.1, 5.
func (c *client) arbitrate(ctx context.Context) error {
	life, end := context.WithCancel(context.Background())
	c.end = end
	wait, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	stop := context.AfterFunc(wait, end) // also of what waits for the connection
	defer stop()
	stream, err := c.rpc.StreamChannel(life)
	if err == nil {
		c.stream = stream
		ask := &p4rt.MasterArbitrationUpdate{DeviceId: c.device, ElectionId: c.election}
		err = stream.Send(&p4rt.StreamMessageRequest{Update: &p4rt.StreamMessageRequest_Arbitration{Arbitration: ask}})
	}
	switch {
	case err != nil && wait.Err() != nil:
		err = fmt.Errorf("p4: no answer to the arbitration: %w", wait.Err())
	case err != nil:
		err = fmt.Errorf("p4: stream: %w", explain(err))
	}
	if err != nil {
		end()
		return err
	}
	first := make(chan error, 1)
	go c.receive(stream, first)
	select {
	case err = <-first:
	case <-wait.Done():
		err = fmt.Errorf("p4: no answer to the arbitration: %w", wait.Err())
	}
	if err != nil {
		c.leave()
	}
	return err
}

// receive takes what the target says until the stream ends. first gets how the arbitration ended.
func (c *client) receive(stream p4rt.P4Runtime_StreamChannelClient, first chan<- error) {
	defer close(c.ended)
	answered := false
	for {
		m, err := stream.Recv()
		if err != nil {
			c.why = fmt.Errorf("p4: stream: %w", explain(err))
			if !answered {
				first <- c.why
			}
			return
		}
		switch {
		case m.GetArbitration() != nil:
			err := primary(m.GetArbitration())
			if !answered {
				answered = true
				first <- err
			}
			if err != nil {
				c.why = err
				return
			}
		case c.messages != nil:
			c.messages(m)
		}
	}
}

// explain adds what is to be done about an error of the target.
func explain(err error) error {
	switch s := status.Convert(err); {
	case s.Code() == codes.InvalidArgument && strings.Contains(s.Message(), "election id"), s.Code() == codes.AlreadyExists:
		return fmt.Errorf("%w: want another p4.election_id, unless that controller is about to go", err)
	case s.Code() == codes.Unavailable && strings.Contains(s.Message(), "server preface"):
		return fmt.Errorf("%w: does the target want p4.tls?", err)
	}
	return err
}

// primary says why this client is not the primary.
func primary(a *p4rt.MasterArbitrationUpdate) error {
	if code := codes.Code(a.GetStatus().GetCode()); code != codes.OK {
		return fmt.Errorf("p4: another controller is the primary of device %d, with election id %d (%v): want p4.election_id greater than that",
			a.GetDeviceId(), a.GetElectionId().GetLow(), code)
	}
	return nil
}

// check looks at what the target runs. Another pipeline may be somebody else's, and is an error
// unless it is to be replaced.
func (c *client) check(ctx context.Context, p *pipeline, replace bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	has, err := c.rpc.GetForwardingPipelineConfig(ctx, &p4rt.GetForwardingPipelineConfigRequest{
		DeviceId: c.device, ResponseType: p4rt.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE,
	})
	switch code := status.Code(err); {
	case code == codes.FailedPrecondition:
		return nil // it runs none
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("p4: no answer within %v: %w", callTime, err)
	case err != nil:
		return fmt.Errorf("p4: pipeline of device %d: %w", c.device, explain(err))
	case has.GetConfig().GetCookie().GetCookie() == p.cookie:
		c.kept = true
		return nil
	case replace || len(has.GetConfig().GetP4Info().GetTables()) == 0:
		return nil
	}
	return fmt.Errorf("p4: device %d runs another pipeline, cookie %#x: want %#x, or none (p4.replace puts this one in its place)",
		c.device, has.GetConfig().GetCookie().GetCookie(), p.cookie)
}

// Check asks a target, of which others may be the controllers, whether it can be used, and changes
// nothing.
func (t *Target) Check(ctx context.Context) error {
	p, err := newPipeline(compiled.V1Model())
	if err != nil {
		return err
	}
	conn, err := t.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	c := &client{conn: conn, rpc: p4rt.NewP4RuntimeClient(conn), device: t.DeviceID}
	if err := c.check(ctx, p, t.Replace); err != nil {
		return fmt.Errorf("target %s: %w", t.Address, err)
	}
	return nil
}

// setPipeline has the target run p, without entries, and with counters of 0.
func (c *client) setPipeline(ctx context.Context, p *pipeline) error {
	ctx, cancel := context.WithTimeout(ctx, pipelineTime)
	defer cancel()
	_, err := c.rpc.SetForwardingPipelineConfig(ctx, &p4rt.SetForwardingPipelineConfigRequest{
		DeviceId: c.device, ElectionId: c.election, Action: p4rt.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4rt.ForwardingPipelineConfig{
			P4Info: p.info, P4DeviceConfig: p.program, Cookie: &p4rt.ForwardingPipelineConfig_Cookie{Cookie: p.cookie},
		},
	})
	if err != nil {
		return fmt.Errorf("p4: device %d does not take the pipeline: %w", c.device, err)
	}
	return nil
}

// write has the target do all updates, in any order. It returns which were refused, by
// position.
//
// Errors: the target is not to be reached, or is somebody else's; what it has done is not known.
func (c *client) write(ctx context.Context, updates []*p4rt.Update) (refused map[int]error, err error) {
	if len(updates) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err = c.rpc.Write(ctx, &p4rt.WriteRequest{DeviceId: c.device, ElectionId: c.election, Updates: updates})
	if err == nil {
		return nil, nil
	}
	st, _ := status.FromError(err)
	if st.Code() != codes.Unknown || len(st.Details()) != len(updates) {
		return nil, fmt.Errorf("p4: write %d updates: %w", len(updates), err)
	}
	refused = map[int]error{}
	for i, d := range st.Details() {
		if one, ok := d.(*p4rt.Error); ok && codes.Code(one.GetCanonicalCode()) != codes.OK {
			refused[i] = refusal(one)
		}
	}
	return refused, nil
}

func refusal(e *p4rt.Error) error {
	code := codes.Code(e.GetCanonicalCode())
	if code == codes.ResourceExhausted {
		return fmt.Errorf("%s: %w", e.GetMessage(), datapath.ErrFull)
	}
	return fmt.Errorf("%s (%v)", e.GetMessage(), code)
}

// cell is one of a counter array.
type cell struct {
	counter uint32
	index   uint32
}

// count is what a cell has counted, whole frames.
type count struct{ packets, octets uint64 }

// read returns what cells have counted.
func (c *client) read(ctx context.Context, cells []cell) (map[cell]count, error) {
	all := make(map[cell]count, len(cells))
	for len(cells) > 0 {
		n := min(len(cells), maxCells)
		if err := c.readSome(ctx, cells[:n], all); err != nil {
			return nil, err
		}
		cells = cells[n:]
	}
	return all, nil
}

const maxCells = 4096

func (c *client) readSome(ctx context.Context, cells []cell, all map[cell]count) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	ask := &p4rt.ReadRequest{DeviceId: c.device, Entities: counterEntities(cells)}
	answer, err := c.rpc.Read(ctx, ask)
	if err != nil {
		return fmt.Errorf("p4: read %d counters: %w", len(cells), err)
	}
	got := 0
	for got < len(cells) {
		m, err := answer.Recv()
		if err != nil {
			return fmt.Errorf("p4: read %d counters, %d came: %w", len(cells), got, err)
		}
		for _, e := range m.GetEntities() {
			one := e.GetCounterEntry()
			all[cell{one.GetCounterId(), uint32(one.GetIndex().GetIndex())}] = count{uint64(one.GetData().GetPacketCount()), uint64(one.GetData().GetByteCount())}
			got++
		}
	}
	return nil
}

// ask returns an error if the target does not answer.
func (c *client) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := c.rpc.Capabilities(ctx, &p4rt.CapabilitiesRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return fmt.Errorf("p4: the target does not answer: %w", err)
	}
	return nil // an older one does not know the call
}

// counterEntities asks for cells, with all of the messages in one piece of memory.
func counterEntities(cells []cell) []*p4rt.Entity {
	all := make([]*p4rt.Entity, len(cells))
	made := make([]struct {
		entity p4rt.Entity
		held   p4rt.Entity_CounterEntry
		entry  p4rt.CounterEntry
		index  p4rt.Index
	}, len(cells))
	for i, one := range cells {
		m := &made[i]
		m.index.Index = int64(one.index)
		m.entry.CounterId, m.entry.Index = one.counter, &m.index
		m.held.CounterEntry = &m.entry
		m.entity.Entity = &m.held
		all[i] = &m.entity
	}
	return all
}

// leave ends the stream.
func (c *client) leave() {
	c.end()
	<-c.ended
}

func (c *client) close() error {
	c.leave()
	return c.conn.Close()
}
