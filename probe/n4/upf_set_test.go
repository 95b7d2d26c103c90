package n4

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/probe"
)

// TestSetUPF moves a UPF to another address: what comes there is its own then, and the
// sessions at the old one are forgotten.
func TestSetUPF(t *testing.T) {
	old, now := netip.MustParseAddrPort("127.0.0.1:8805"), netip.MustParseAddrPort("127.0.0.3:8805")
	b := newBed(t, "set")
	learnt := map[uint32]bool{}
	m := open(t, Config{
		UPFs:   []UPF{{Name: "a", N4: []netip.Addr{old.Addr()}}},
		Learn:  func(_ int, k probe.Key, _ probe.Slice) error { learnt[k.TEID] = true; return nil },
		Forget: func(_ int, k probe.Key) error { delete(learnt, k.TEID); return nil },
	})
	attach(t, m, Point{Namespace: path(b.up), Device: "lo"})
	cp, up, moved := listen(t, b.up, netip.MustParseAddrPort("127.0.0.2:8805")), listen(t, b.up, old), listen(t, b.up, now)
	establish := func(at *net.UDPConn, sequence, teid uint32) {
		exchange(t, cp, at,
			octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, sequence, 0, cpNode, cpSEID, far, pdr(1, access(choose)))),
			octets(t, message.NewSessionEstablishmentResponse(0, 0, 77, sequence, 0, upNode, accept, ie.NewFSEID(9, at.LocalAddr().(*net.UDPAddr).IP, nil),
				ie.NewCreatedPDR(ie.NewPDRID(1), fteid(teid)))))
	}
	seen := func(want uint64) *Snapshot {
		return until(t, m, func(s *Snapshot) bool { return s.datagrams() == want })
	}

	establish(up, 1, 5)
	establish(moved, 2, 6) // of another one
	seen(4)
	if err := m.SetUPF(0, UPF{Name: "b", N4: []netip.Addr{now.Addr()}}); err != nil {
		t.Fatal(err)
	}
	establish(moved, 3, 7)
	exchange(t, cp, up, heartbeat(t, 4, 1), heartbeatResponse(t, 4)) // of another one
	s := seen(8)
	if p := s.Points[0]; p.Datagrams != 4 || p.Foreign != 4 {
		t.Errorf("got %+v, want 4 datagrams and as many foreign ones", p)
	}
	if len(s.Series) != 1 || s.Series[0].Answered != 2 || s.Series[0].UPF != "b" || s.Learnt.Sessions != 1 {
		t.Errorf("got %+v, %d sessions known, want 2 establishments of b, the latter known", s.Series, s.Learnt.Sessions)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if diff := cmp.Diff(map[uint32]bool{7: true}, learnt); diff != "" {
		t.Errorf("learnt TEIDs (-want +got):\n%s", diff)
	}
}

func TestSetUPFMistakes(t *testing.T) {
	m := open(t, Config{UPFs: []UPF{{Name: "a"}}})
	if err := errors.Join(m.SetUPF(0, UPF{Name: "a"})); err != nil {
		t.Error(err)
	}
	for _, upf := range []int{-1, 1} {
		if err := m.SetUPF(upf, UPF{}); err == nil {
			t.Errorf("UPF %d: no error", upf)
		}
	}
}
