package p4rt

import (
	"context"
	"errors"
	"io"
	"testing"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// withinProcess has the rigs' clients be those within the process.
var withinProcess bool

// TestLocal does the tests of writes and reads once more, within the process.
func TestLocal(t *testing.T) {
	withinProcess = true
	defer func() { withinProcess = false }()
	for _, of := range []struct {
		name string
		test func(*testing.T)
	}{
		{"refused", TestRefused}, {"batch", TestBatch}, {"read back", TestReadBack}, {"filters", TestFilters}, {"read errors", TestReadErrors},
		{"many responses", TestManyResponses},
	} {
		t.Run(of.name, of.test)
	}
}

// TestLocalRead compares what a client within the process is answered with what one at the other end of a connection is.
func TestLocalRead(t *testing.T) {
	r, _ := primary(t)
	conn, err := r.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it
	local := r.Local(conn)
	r.mustWrite(t, entity("MODIFY", `counter_entry { counter_id: 0x12000001 index { index: 2 } data { packet_count: 3 byte_count: 400 } }`))
	read := func(c p4.P4RuntimeClient, m *p4.ReadRequest) (all []*p4.Entity, err error) {
		stream, err := c.Read(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		for {
			got, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			if err != nil {
				return all, err
			}
			all = append(all, got.GetEntities()...)
		}
	}
	const one = `entities { counter_entry { counter_id: 0x12000001 index { index: 2 } } } `
	for _, text := range []string{
		one, one + one + `entities { counter_entry { counter_id: 0x12000001 index { } } }`, ``,
		one + `entities { counter_entry { counter_id: 0x12000001 index { index: 8 } } }`,
		one + `entities { counter_entry { counter_id: 0x12000001 index { index: -1 } } }`,
		one + `entities { counter_entry { counter_id: 9 index { } } }`,
		one + `entities { counter_entry { counter_id: 0x12000001 } }`,
		one + `entities { counter_entry { index { } } }`, one + `entities { counter_entry { } }`,
		one + `entities { meter_entry { } }`, one + `role: "other"`, everything,
	} {
		m := &p4.ReadRequest{DeviceId: 1}
		parse(t, text, m)
		m.DeviceId = 1
		want, wantErr := read(r.client, m)
		got, err := read(local, m)
		if status.Code(err) != status.Code(wantErr) || len(status.Convert(err).Details()) != len(status.Convert(wantErr).Details()) {
			t.Errorf("%s: got %v, want %v", text, err, wantErr)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d entities, want %d", text, len(got), len(want))
			continue
		}
		for i := range got {
			if text != everything && !proto.Equal(got[i], want[i]) { // entries have no order
				t.Errorf("%s: got %v, want %v", text, got[i], want[i])
			}
		}
	}
}
