package probetest_test

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/tcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestTCP has iperf3 send as fast as it goes, in super-packets wherever the kernel makes or
// keeps them: what leaves has come in, packet by packet, though hardly one is alone.
func TestTCP(t *testing.T) {
	for _, datapath := range []string{upf.DatapathTC, upf.DatapathTUN} {
		t.Run(datapath, func(t *testing.T) {
			o, w := newOwn(t, datapath, probe.Config{Timeout: enough})
			s := o.Sessions()[0]
			ue := tcp.UE{Address: s.UE, UplinkTEID: s.ULTEID, DownlinkTEID: s.DLTEID, QFI: system.QFI, SuperPackets: datapath == upf.DatapathTC}
			stop, err := tcp.Attach(t.Context(), o.Topology(), ue)
			must(t, err)
			defer func() { mustBe(t, stop()) }()
			for _, downlink := range []bool{false, true} {
				flow, err := tcp.Start(t.Context(), o.Topology(), tcp.Flow{UE: ue, Downlink: downlink, Duration: time.Second})
				must(t, err)
				r, err := flow.Wait(t.Context(), patience)
				must(t, err)
				t.Logf("downlink %v: %.1f Gbit/s, %d segments sent again", downlink, r.BPS/1e9, r.Retransmits)
			}
			for d, leaves := range map[probe.Direction]probe.Side{probe.Uplink: probe.N6, probe.Downlink: probe.N3} {
				var a probe.Account
				await(func() bool { a = w.account(t, d); return a.InFlight == 0 })
				out := w.points(t, probe.Out, leaves)
				// Thousands wait in the sockets: now and then five of them want one set of four,
				// and the oldest, forgotten, is unknown when it leaves.
				if !a.Balanced() || a.InFlight > 0 || a.Matched < 100 || out.Packets != a.Matched+out.AmbiguousOut+out.Unmatched {
					t.Errorf("%v: account %+v, exit %+v", d, a, out)
				}
				if out.Unmatched > a.Evicted || a.Evicted > a.In/10_000 {
					t.Errorf("%v: %d of %d evicted, %d unknown when they left", d, a.Evicted, a.In, out.Unmatched)
				}
				t.Logf("%v: %+v", d, a)
			}
		})
	}
}
