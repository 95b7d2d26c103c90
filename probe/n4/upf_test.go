package n4_test

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/n4"
	"github.com/plumbline-upf/plumbline/upf"
)

// newTopology is a bed in which N4 goes over lo of the UPF's namespace.
func newTopology(t *testing.T, c topology.Config) *topology.Topology {
	t.Helper()
	top, err := topology.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	return top
}

// TestUPF has sessions of our UPF established, changed and deleted.
func TestUPF(t *testing.T) {
	top := newTopology(t, topology.Config{Name: "plt-n4-upf"})
	at := top.Config.N4UPF
	c, err := upf.Parse("test", fmt.Appendf(nil, `
n4: {address: %v}
n3: {address: %v}
datapath: model
metrics: {address: "127.0.0.1:0"}
api: {socket: %s}
`, at, at, filepath.Join(t.TempDir(), "upf.sock")))
	if err != nil {
		t.Fatal(err)
	}
	err = top.UPF.Do(func() error {
		s, err := upf.Start(t.Context(), c, upf.Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Cleanup(func() { s.Close() })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	life(t, top, n4load.Template{
		UE: netip.MustParseAddr("10.64.0.1"), UEPrefix: netip.MustParsePrefix("2001:db8:60::/64"), GNB: netip.MustParseAddr("10.3.0.2"), DLTEID: 100,
		QFI: 9, DNN: "internet",
	})
}

// TestPeers does the same with UPFs of others, where they are installed.
func TestPeers(t *testing.T) {
	for name, variable := range map[string]string{"eupf": "PLUMB_EUPF", "open5gs-tun": "PLUMB_OPEN5GS"} {
		t.Run(name, func(t *testing.T) {
			kinds, err := dut.Select([]string{name})
			if err != nil {
				t.Fatal(err)
			}
			kind := kinds[0]
			kind.Path = os.Getenv(variable)
			if _, err := kind.Find(); errors.Is(err, dut.ErrNotInstalled) {
				t.Skip(err)
			}
			top := newTopology(t, topology.Config{Name: "plt-n4-peer", Offload: kind.Offloads})
			peer, err := dut.Start(t.Context(), kind, dut.At(top))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { peer.Stop() })
			template, err := peer.Template()
			if err != nil {
				t.Fatal(err)
			}
			life(t, top, template)
		})
	}
}

// known is what a Monitor has learnt.
type known struct {
	mu    sync.Mutex
	slice map[probe.Key]string
}

func (l *known) learn(_ int, k probe.Key, s probe.Slice) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slice[k] = s.Name
	return nil
}

func (l *known) forget(_ int, k probe.Key) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.slice, k)
	return nil
}

// compare wants these keys, of this slice, and no others.
func (l *known) compare(t *testing.T, want []probe.Key, slice string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range want {
		if got, ok := l.slice[k]; !ok || got != slice {
			t.Errorf("%+v: got slice %q, known %v, want %q", k, got, ok, slice)
		}
	}
	if len(l.slice) != len(want) {
		t.Errorf("got %d keys, want %d", len(l.slice), len(want))
	}
}

// until reads the Monitor until ok says that all is there, or for 30 s.
func until(t *testing.T, m *n4.Monitor, ok func(*n4.Snapshot) bool) *n4.Snapshot {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		if ok(s) || time.Now().After(end) {
			return s
		}
	}
}

// life takes sessions of a UPF through their life: what is counted and learnt is what the
// CP function knows of them.
func life(t *testing.T, top *topology.Topology, template n4load.Template) {
	t.Helper()
	const n = 200
	learnt := known{slice: map[probe.Key]string{}}
	m, err := n4.Open(n4.Config{UPFs: []n4.UPF{{Name: "a", N4: []netip.Addr{top.Config.N4UPF}}}, Learn: learnt.learn, Forget: learnt.forget})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if _, err := m.Attach(n4.Point{Namespace: top.UPF.Path(), Device: "lo"}); err != nil {
		t.Fatal(err)
	}
	cp, sessions := labtest.Associate(t, top), template.Sessions(0, n)
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
	want := keysOf(sessions)
	until(t, m, func(s *n4.Snapshot) bool { return s.Learnt.Keys >= uint64(len(want)) })
	learnt.compare(t, want, cmp.Or(template.DNN, template.Dialect.DNN, template.NetworkInstance, template.Dialect.CoreInstance))

	r, err = cp.Modify(t.Context(), &template, sessions)
	report(pfcp.MsgSessionModificationRequest, r, err)
	r, err = cp.Delete(t.Context(), sessions)
	report(pfcp.MsgSessionDeletionRequest, r, err)
	s := until(t, m, func(s *n4.Snapshot) bool { return s.Learnt.Accepted >= 3*n && s.Learnt.Keys == 0 })
	if s.Learnt != (n4.Learnt{Accepted: 3 * n}) {
		t.Errorf("after all: got %+v, want %d accepted", s.Learnt, 3*n)
	}
	compareReports(t, s, reports)
}

// keysOf are the keys of sessions, as the CP function knows them.
func keysOf(sessions []n4load.Session) (keys []probe.Key) {
	for _, s := range sessions {
		keys = append(keys, probe.Key{TEID: s.ULTEID}, probe.Key{UE: netip.PrefixFrom(s.UE, 32)})
		if s.UEPrefix.IsValid() {
			keys = append(keys, probe.Key{UE: s.UEPrefix})
		}
	}
	return keys
}

// compareReports holds what was measured against what the CP function has: it waits for no
// less than the device sees.
func compareReports(t *testing.T, s *n4.Snapshot, reports map[pfcp.MessageType]*n4load.Report) {
	t.Helper()
	for _, x := range s.Series {
		r := reports[x.Type]
		if r == nil {
			continue
		}
		delete(reports, x.Type)
		want := n4.Account{Requests: uint64(r.Sent), Answered: uint64(r.Accepted), Retransmissions: uint64(r.Repeated), Repeated: uint64(r.Duplicates)}
		if x.Account != want || x.Role != n4.CP || x.Causes[pfcp.CauseRequestAccepted] != uint64(r.Accepted) {
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
