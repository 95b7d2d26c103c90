package p4rt

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// controller is a stream of a test.
type controller struct {
	t      testing.TB
	stream p4.P4Runtime_StreamChannelClient
}

func (r *rig) open(t testing.TB) *controller {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	stream, err := r.client.StreamChannel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &controller{t, stream}
}

func (c *controller) send(text string) {
	c.t.Helper()
	m := &p4.StreamMessageRequest{}
	parse(c.t, text, m)
	if err := c.stream.Send(m); err != nil {
		c.t.Fatal(err)
	}
}

// next returns what the controller is told next.
func (c *controller) next() *p4.StreamMessageResponse {
	c.t.Helper()
	m, err := c.stream.Recv()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// want compares what the controller is told next.
func (c *controller) want(text string) {
	c.t.Helper()
	want := &p4.StreamMessageResponse{}
	parse(c.t, text, want)
	got := c.next()
	if a := got.GetArbitration(); a != nil && a.GetStatus() != nil {
		a.Status.Message = "" // words are free
	}
	if !proto.Equal(got, want) {
		c.t.Errorf("told: got %s, want %s", prototext.Format(got), prototext.Format(want))
	}
}

// wantEnd checks how the stream ends.
func (c *controller) wantEnd(code codes.Code) {
	c.t.Helper()
	for {
		_, err := c.stream.Recv()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) && code == codes.OK {
			return
		}
		if got := status.Code(err); got != code {
			c.t.Errorf("the stream ends with %v, want %v", err, code)
		}
		return
	}
}

// primary makes a rig with a pipeline and a primary controller, whose election id is 1.
func primary(t testing.TB) (*rig, *controller) {
	t.Helper()
	r := newRig(t, Config{})
	if err := r.SetPipeline(fakeConfig(t)); err != nil {
		t.Fatal(err)
	}
	c := r.open(t)
	c.send(`arbitration { device_id: 1 election_id { low: 1 } }`)
	c.want(`arbitration { device_id: 1 election_id { low: 1 } status {} }`)
	return r, c
}

func parse(t testing.TB, text string, m proto.Message) {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// write does updates as the primary of primary, and returns the codes of all updates, or that of the request.
func (r *rig) write(t testing.TB, text string) ([]codes.Code, error) {
	t.Helper()
	m := &p4.WriteRequest{}
	parse(t, text, m)
	m.DeviceId, m.ElectionId = 1, &p4.Uint128{Low: 1}
	_, err := r.client.Write(context.Background(), m)
	if err == nil {
		return nil, nil
	}
	s := status.Convert(err)
	if len(s.Details()) == 0 {
		return []codes.Code{s.Code()}, err
	}
	if s.Code() != codes.Unknown || len(s.Details()) != len(m.GetUpdates()) {
		t.Errorf("got %v with %d errors, want %v with %d", s.Code(), len(s.Details()), codes.Unknown, len(m.GetUpdates()))
	}
	var list []codes.Code
	var words []string
	for _, d := range s.Details() {
		e := d.(*p4.Error)
		list = append(list, codes.Code(e.GetCanonicalCode()))
		words = append(words, e.GetMessage())
	}
	return list, errors.New(strings.Join(words, "\n"))
}

// mustWrite is write that has to be done.
func (r *rig) mustWrite(t testing.TB, text string) {
	t.Helper()
	if _, err := r.write(t, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// read returns the entities of one request.
func (r *rig) readAll(t testing.TB, text string) ([]*p4.Entity, error) {
	t.Helper()
	m := &p4.ReadRequest{}
	parse(t, text, m)
	m.DeviceId = 1
	stream, err := r.client.Read(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	var list []*p4.Entity
	for {
		got, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, got.GetEntities()...)
	}
}
