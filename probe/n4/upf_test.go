package n4

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/lab/n4load"
	"plumbline/pfcp"
	"plumbline/probe"
	"plumbline/upf"
)

// startUPF starts our UPF in the UP function's namespace.
func startUPF(t *testing.T, b *bed) {
	t.Helper()
	c, err := upf.Parse("test", fmt.Appendf(nil, `
n4: {address: %v}
n3: {address: %v}
datapath: model
metrics: {address: "127.0.0.1:0"}
api: {socket: %s}
`, bedUP, bedUP, filepath.Join(t.TempDir(), "upf.sock")))
	if err != nil {
		t.Fatal(err)
	}
	in(t, b.up, func() error {
		s, err := upf.Start(t.Context(), c, upf.Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Cleanup(func() { s.Close() })
		}
		return err
	})
}

// TestUPF has sessions of a real UPF established, changed and deleted: what is counted and
// learnt is what the CP function knows of them.
func TestUPF(t *testing.T) {
	const n = 200
	b := newBed(t, "upf")
	startUPF(t, b)
	learnt := map[probe.Key]string{}
	m := open(t, Config{
		UPFs:   []UPF{{Name: "ours", N4: []netip.Addr{bedUP}}},
		Learn:  func(_ int, k probe.Key, s probe.Slice) error { learnt[k] = s.Name; return nil },
		Forget: func(_ int, k probe.Key) error { delete(learnt, k); return nil },
	})
	attach(t, m, Point{Namespace: path(b.up), Device: "n4"})
	var cp *n4load.Client
	in(t, b.cp, func() (err error) {
		cp, err = n4load.Dial(n4load.Config{Local: netip.AddrPortFrom(bedCP, 0), Remote: netip.AddrPortFrom(bedUP, pfcp.Port)})
		return err
	})
	t.Cleanup(func() { cp.Close() })
	template := n4load.Template{
		UE: netip.MustParseAddr("10.64.0.1"), UEPrefix: netip.MustParsePrefix("2001:db8:60::/64"), GNB: netip.MustParseAddr("10.3.0.2"), DLTEID: 100,
		QFI: 9, DNN: "internet",
	}
	sessions := template.Sessions(0, n)
	if _, err := cp.Associate(t.Context()); err != nil {
		t.Fatal(err)
	}
	reports := map[pfcp.MessageType]*n4load.Report{}
	report := func(kind pfcp.MessageType, r *n4load.Report, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		reports[kind] = r
	}
	r, err := cp.Establish(t.Context(), &template, sessions)
	report(pfcp.MsgSessionEstablishmentRequest, r, err)
	want := map[probe.Key]string{}
	for _, s := range sessions {
		want[probe.Key{TEID: s.ULTEID}] = "internet"
		want[probe.Key{UE: netip.PrefixFrom(s.UE, 32)}] = "internet"
		want[probe.Key{UE: s.UEPrefix}] = "internet"
	}
	until(t, m, func(s *Snapshot) bool { return s.Learnt.Keys >= uint64(len(want)) })
	m.mu.Lock()
	if diff := cmp.Diff(want, learnt, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || len(want) != 3*n {
		t.Errorf("of %d keys (-want +got):\n%s", len(want), diff)
	}
	m.mu.Unlock()
	r, err = cp.Modify(t.Context(), &template, sessions)
	report(pfcp.MsgSessionModificationRequest, r, err)
	r, err = cp.Delete(t.Context(), sessions)
	report(pfcp.MsgSessionDeletionRequest, r, err)
	s := until(t, m, func(s *Snapshot) bool { return s.Learnt.Keys == 0 })
	if s.Learnt != (Learnt{Accepted: 3 * n}) {
		t.Errorf("after all: got %+v, want %d accepted", s.Learnt, 3*n)
	}
	compareReports(t, s, reports)
}

// compareReports holds what was measured against what the CP function has: it waits for no
// less than the device sees.
func compareReports(t *testing.T, s *Snapshot, reports map[pfcp.MessageType]*n4load.Report) {
	t.Helper()
	for _, x := range s.Series {
		r := reports[x.Type]
		if r == nil {
			continue
		}
		delete(reports, x.Type)
		want := Account{Requests: uint64(r.Sent), Answered: uint64(r.Accepted), Retransmissions: uint64(r.Repeated), Repeated: uint64(r.Duplicates)}
		if x.Account != want || x.Role != CP || x.Causes[pfcp.CauseRequestAccepted] != uint64(r.Accepted) {
			t.Errorf("%v: got %v %+v, causes %v, want %+v", x.Type, x.Role, x.Account, x.Causes, want)
		}
		for _, q := range []float64{0, 50, 99, 100} {
			// Both round: to 1 % here, to 0.1 % there.
			here, there := x.Delay.ValueAtQuantile(q), r.Latency.ValueAtQuantile(q)
			if float64(here) > 1.01*float64(there) {
				t.Errorf("%v, %v %%: %v at the device, %v at the CP function", x.Type, q, time.Duration(here), time.Duration(there))
			}
		}
	}
	if len(reports) > 0 {
		t.Errorf("nothing was measured of %d types", len(reports))
	}
}
