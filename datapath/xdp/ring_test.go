package xdp

import (
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/gtpu"
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
	b.ring.SetDeadline(time.Now().Add(30 * time.Second))
	record, err := b.ring.Read()
	if err != nil {
		t.Fatalf("exception ring: %v", err)
	}
	return parseException(record.RawSample)
}

// copyAll makes the copies of the frames in the ring of copies.
func (b *bed) copyAll(t testing.TB) {
	t.Helper()
	if b.copies == nil {
		ring, err := ringbuf.NewReader(b.objs.Copies)
		if err != nil {
			t.Fatal(err)
		}
		b.copies = ring
	}
	b.copies.SetDeadline(time.Unix(1, 0)) // of what is there
	for {
		record, err := b.copies.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			t.Fatalf("ring of copies: %v", err)
		}
		b.slow.copier.take(parseCopy(record.RawSample))
	}
}
