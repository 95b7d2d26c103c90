package n4

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestHeardFirst: what a response says is done when the reader goes on to the next
// message, whenever the goroutine that waits for it runs.
func TestHeardFirst(t *testing.T) {
	var pending transactions
	pending.init()
	var heard [][]byte
	peer := netip.MustParseAddrPort("10.4.0.2:8805")
	k, answer := pending.begin(peer, pfcp.MsgSessionReportResponse, func(b []byte) { heard = append(heard, bytes.Clone(b)) })
	body := []byte{1, 2, 3}
	if !pending.deliver(k, body) || len(heard) != 1 || !bytes.Equal(heard[0], body) {
		t.Fatalf("heard %x", heard)
	}
	if pending.deliver(k, body) || len(heard) != 1 {
		t.Errorf("a second response was taken: heard %x", heard)
	}
	if got := <-answer; !bytes.Equal(got, body) {
		t.Errorf("got %x", got)
	}
}
