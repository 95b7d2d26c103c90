package p4rt

import (
	"context"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that this one is built on
	"google.golang.org/grpc/mem"
)

// encoded is a message in octets.
type encoded []byte

// received is a WriteRequest in octets, which are gone after free.
type received struct{ buffer mem.Buffer }

// codec is that of protobuf, except for messages that stay octets.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Marshal makes octets of a message.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal makes a message of octets.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*received); ok {
		r.buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// serviceDesc is the generated one, but that a WriteRequest stays octets.
func serviceDesc() *grpc.ServiceDesc {
	d := p4.P4Runtime_ServiceDesc
	d.Methods = append([]grpc.MethodDesc(nil), d.Methods...)
	for i := range d.Methods {
		if d.Methods[i].MethodName == "Write" {
			d.Methods[i].Handler = handleWrite
		}
	}
	return &d
}

func handleWrite(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var r received
	if err := decode(&r); err != nil {
		return nil, err
	}
	defer r.buffer.Free()
	if err := srv.(*Server).write(ctx, r.buffer.ReadOnlyData()); err != nil {
		return nil, err
	}
	return writeDone, nil
}

// writeDone is a WriteResponse, which has nothing in it.
var writeDone = encoded{}
