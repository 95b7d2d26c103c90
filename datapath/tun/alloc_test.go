package tun

import (
	"math"
	"net/netip"
	"syscall"
	"testing"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// TestNoAllocation carries packets both ways, of flows that go together and that do not,
// and allocates nothing for them.
func TestNoAllocation(t *testing.T) {
	for _, name := range []string{"tunalloc", "tapalloc", "ringalloc"} {
		n := openNetwork(t, name, Config{TAP: name == "tapalloc", Ring: name == "ringalloc", Workers: 1})
		n.install(t)
		const packets = 64
		up := make([][]byte, packets)
		for i := range up {
			packet := datagram(n.ue, n.Config.N6DN.Addr(), make([]byte, 300+i%2)) // the longer ones do not go behind the shorter
			up[i] = append(gtpu.AppendGPDU(nil, uint32(n.sessions)<<8|ulTEID, gtpu.PDUTypeUplink, 9, len(packet)), packet...)
		}
		gnb, err := n.gnb.SyscallConn()
		check(t, err)
		dn, err := n.dn.SyscallConn()
		check(t, err)
		fromGNB, fromDN := mmsg.NewSender(gnb, packets), mmsg.NewSender(dn, packets)
		atGNB, atDN := receiver(gnb, packets), receiver(dn, packets)
		ue, down := netip.AddrPortFrom(n.ue, uePort), make([]byte, 300)
		round := func() {
			fromGNB.Reset()
			for _, b := range up {
				fromGNB.AddTo(n.n3.AddrPort(), b)
			}
			_, _ = fromGNB.Flush()
			count(atDN, packets)
			fromDN.Reset()
			for range packets {
				fromDN.AddTo(ue, down)
			}
			_, _ = fromDN.Flush()
			count(atGNB, packets)
		}
		round()
		// Meanwhile others may look at what waits, or at links that have changed: the least counts.
		got := math.Inf(1)
		for range 10 {
			got = min(got, testing.AllocsPerRun(5, round))
		}
		if got > 0 {
			t.Errorf("%s: %v allocations for %d packets", name, got, 2*packets)
		}
	}
}

// count takes so many datagrams, or what there is until the deadline.
func count(r *mmsg.Receiver, packets int) {
	for got := 0; got < packets; {
		n, err := r.Next()
		if err != nil {
			panic(err)
		}
		got += n
	}
}

func receiver(conn syscall.RawConn, n int) *mmsg.Receiver {
	bufs := make([][]byte, n)
	for i := range bufs {
		bufs[i] = make([]byte, 2048)
	}
	return mmsg.NewReceiver(conn, bufs)
}
