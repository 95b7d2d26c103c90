package programs

import (
	"encoding/json"
	"net/netip"
	"testing"
)

// Transfer is what one end of iperf3 says of its run. Packets and LostPackets
// are of UDP: all that the sender sent, and those of them that did not arrive.
type Transfer struct {
	Octets        uint64  `json:"bytes"`
	Seconds       float64 `json:"seconds"`
	BitsPerSecond float64 `json:"bits_per_second"`
	Packets       int     `json:"packets"`
	LostPackets   int     `json:"lost_packets"`
}

// report is what matters of iperf3 --json.
type report struct {
	Error string `json:"error"`
	Start struct {
		Test struct {
			Streams     uint64 `json:"num_streams"`
			BlockOctets uint64 `json:"blksize"`
		} `json:"test_start"`
	} `json:"start"`
	End struct {
		Sent     Transfer `json:"sum_sent"`
		Received Transfer `json:"sum_received"`
	} `json:"end"`
}

// uncounted is how many octets there can be at most that were sent and are not in Sent:
// iperf3 3.16 and later send from a thread of its own, and stop it now and then behind the
// write of a block and before its count, each stream. (Seen with 3.18, Debian 13's, of UDP.)
func (r *report) uncounted() uint64 { return r.Start.Test.Streams * r.Start.Test.BlockOctets }

// Iperf runs iperf3, client in one namespace and server at an address of the
// other, and returns what the receiving end got (with --bidir, the server). It
// fails unless that is something, and not more than was sent. With --bytes, iperf3
// 3.18 takes a second at least, and by UDP sends all the while.
func Iperf(t testing.TB, client, at string, address netip.Addr, flags ...string) Transfer {
	t.Helper()
	s := serve(t, at, "Server listening", "iperf3", "--server", "--one-off", "--forceflush")
	args := append([]string{"iperf3", "--json", "--client", address.String()}, flags...)
	out := Output(t, client, args...)
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	sent, received := r.End.Sent, r.End.Received
	if r.Error != "" || received.Octets == 0 || received.Octets > sent.Octets+r.uncounted() {
		t.Errorf("%v: error %q, %d octets sent, %d received", args, r.Error, sent.Octets, received.Octets)
	}
	if received.Packets != 0 && received.LostPackets >= received.Packets {
		t.Errorf("%v: lost %d of %d packets", args, received.LostPackets, received.Packets)
	}
	t.Logf("%v: %.0f Mbit/s", args[2:], received.BitsPerSecond/1e6)
	<-s.ended // the next server needs its port
	return received
}
