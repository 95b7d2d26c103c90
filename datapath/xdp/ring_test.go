package xdp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"plumbline/gtpu"
)

var gnbPort = netip.AddrPortFrom(netip.MustParseAddr("10.3.0.2"), gtpu.Port)

// exception returns the next frame in the exception ring.
func (b *bed) exception(t testing.TB) exception {
	t.Helper()
	if b.ring == nil {
		ring, err := ringbuf.NewReader(b.objs.Exceptions)
		if err != nil {
			t.Fatal(err)
		}
		b.ring = ring
	}
	b.ring.SetDeadline(time.Now().Add(time.Second))
	record, err := b.ring.Read()
	if err != nil {
		t.Fatalf("exception ring: %v", err)
	}
	return parseException(record.RawSample)
}
