package xdp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"plumbline/gtpu"
)

var gnbPort = netip.AddrPortFrom(netip.MustParseAddr("10.3.0.2"), gtpu.Port)

// readException returns the next frame in the exception ring.
func readException(t testing.TB, d *Driver) exception {
	t.Helper()
	ring, err := ringbuf.NewReader(d.objs.Exceptions)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
	}()
	ring.SetDeadline(time.Now().Add(time.Second))
	record, err := ring.Read()
	if err != nil {
		t.Fatalf("exception ring: %v", err)
	}
	return parseException(record.RawSample)
}
