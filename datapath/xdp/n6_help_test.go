package xdp_test

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
	"testing"
)

// same reads as many octets as there should be and compares them.
func same(t *testing.T, from io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(from, got)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d of %d octets arrived, %v, the same %v", n, len(want), err, bytes.Equal(got, want))
	}
}

// seen returns what a site says in the header of its answer: whom it saw.
func seen(header string) netip.AddrPort {
	for line := range strings.Lines(header) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "X-From: "); ok {
			from, _ := netip.ParseAddrPort(value)
			return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		}
	}
	return netip.AddrPort{}
}
