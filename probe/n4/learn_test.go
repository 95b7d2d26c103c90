package n4

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// IEs of go-pfcp, as SMFs write them.
var (
	cpNode = ie.NewNodeID("10.4.0.2", "", "")
	upNode = ie.NewNodeID("10.4.0.1", "", "")
	cpSEID = ie.NewFSEID(77, net.ParseIP("10.4.0.2"), nil)
	choose = ie.NewFTEID(0x0d, 0, nil, nil, 1)
	accept = ie.NewCause(ie.CauseRequestAccepted)
)

func fteid(teid uint32) *ie.IE { return ie.NewFTEID(1, teid, net.ParseIP("10.3.0.1"), nil, 0) }

func access(more ...*ie.IE) *ie.IE {
	return ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceAccess)}, more...)...)
}

func core(more ...*ie.IE) *ie.IE {
	return ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore)}, more...)...)
}

func pdr(id uint16, pdi *ie.IE, more ...*ie.IE) *ie.IE {
	return ie.NewCreatePDR(append(more, ie.NewPDRID(id), ie.NewPrecedence(100), pdi, ie.NewFARID(1))...)
}

func ue(addr string) *ie.IE { return ie.NewUEIPAddress(6, addr, "", 0, 0) }

func qer(id uint32, qfi uint8) *ie.IE {
	return ie.NewCreateQER(ie.NewQERID(id), ie.NewGateStatus(0, 0), ie.NewQFI(qfi))
}

var far = ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2, 0), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore)))

// session puts an establishment on the wire that the UP function accepts with a SEID, and
// what it chose.
func (w *wire) session(sequence uint32, seid uint64, request, chosen []*ie.IE) {
	w.t.Helper()
	w.cp(0, octets(w.t, message.NewSessionEstablishmentRequest(0, 0, 0, sequence, 0, append(request, cpNode, cpSEID, far)...)))
	w.up(1, octets(w.t, message.NewSessionEstablishmentResponse(0, 0, 77, sequence, 0,
		append([]*ie.IE{upNode, accept, ie.NewFSEID(seid, net.ParseIP("10.4.0.1"), nil)}, chosen...)...)))
}

// modify puts an accepted modification on the wire.
func (w *wire) modify(sequence uint32, seid uint64, request, chosen []*ie.IE) {
	w.t.Helper()
	w.cp(2, octets(w.t, message.NewSessionModificationRequest(0, 0, seid, sequence, 0, request...)))
	w.up(3, octets(w.t, message.NewSessionModificationResponse(0, 0, 77, sequence, 0, append([]*ie.IE{accept}, chosen...)...)))
}

// deleteSet puts the accepted deletion of a set of sessions on the wire.
func (w *wire) deleteSet(sequence uint32, asks, answers func(int, []byte), sets *ie.IE) {
	w.t.Helper()
	asks(6, octets(w.t, message.NewSessionSetDeletionRequest(sequence, cpNode, sets)))
	answers(7, octets(w.t, message.NewSessionSetDeletionResponse(sequence, upNode, accept, nil)))
}

// remove puts an accepted deletion on the wire.
func (w *wire) remove(sequence uint32, seid uint64) {
	w.t.Helper()
	w.cp(4, deletion(w.t.(*testing.T), sequence, seid))
	w.up(5, deletionResponse(w.t.(*testing.T), sequence, ie.CauseRequestAccepted))
}

type ies = []*ie.IE

// TestLearn has messages, and the keys that are known after them.
func TestLearn(t *testing.T) {
	usual := ies{pdr(1, access(choose)), pdr(2, core(ue("10.45.0.3"))), ie.NewSNSSAI(1, 0x010203), ie.NewAPNDNN("internet")}
	created := ies{ie.NewCreatedPDR(ie.NewPDRID(1), fteid(0x80000001))}
	const slice = "1-010203/internet"
	known := map[string]string{"0x80000001": slice, "10.45.0.3/32": slice}
	for _, tc := range []struct {
		name   string
		slices string // slice map
		run    func(w *wire)
		want   map[string]string
	}{
		{"the UP function chooses the F-TEID", "", func(w *wire) { w.session(1, 9, usual, created) }, known},
		{"the CP function chose it", "", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(fteid(5), ue("10.45.0.3"))), ie.NewSNSSAI(2, 0xffffff)}, nil)
		}, map[string]string{"0x5": "2", "10.45.0.3/32": "2"}},
		{"the UP function chooses the UE's address", "", func(w *wire) {
			w.session(1, 9, ies{pdr(2, core(ie.NewUEIPAddress(0x10, "", "", 0, 0))), ie.NewSNSSAI(1, 1)}, ies{ie.NewCreatedPDR(ie.NewPDRID(2), ue("10.45.0.9"))})
		}, map[string]string{"10.45.0.9/32": "1-000001"}},
		{"IPv6: the prefix", "", func(w *wire) {
			w.session(1, 9, ies{pdr(2, core(ie.NewUEIPAddress(1, "", "2001:db8:60:1::7", 0, 0))), ie.NewAPNDNN("ims")}, nil)
		}, map[string]string{"2001:db8:60:1::/64": "ims"}},
		{"framed routes", "", func(w *wire) {
			w.session(1, 9, ies{pdr(2, core(ue("10.45.0.3"), ie.NewFramedRoute("10.60.0.0/16 0.0.0.0 1"), ie.NewFramedRoute("nonsense"))), ie.NewAPNDNN("m2m")}, nil)
		}, map[string]string{"10.45.0.3/32": "m2m", "10.60.0.0/16": "m2m"}},
		{"a Network Instance instead of the DNN, that of N6", "", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(fteid(5), ie.NewNetworkInstance("access"))), pdr(2, core(ue("10.45.0.3"), ie.NewNetworkInstance("internet")))}, nil)
		}, map[string]string{"0x5": "internet", "10.45.0.3/32": "internet"}},
		{"neither S-NSSAI nor DNN", "", func(w *wire) { w.session(1, 9, ies{pdr(1, access(fteid(5)))}, nil) }, map[string]string{"0x5": ""}},
		{"a Traffic Endpoint", "", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(ie.NewTrafficEndpointID(3))), ie.NewAPNDNN("x"),
				ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(3), choose, ie.NewUEIPAddress(2, "10.45.0.3", "", 0, 0))},
				ies{ie.NewCreatedTrafficEndpoint(ie.NewTrafficEndpointID(3), fteid(8))})
		}, map[string]string{"0x8": "x", "10.45.0.3/32": "x"}},

		{"a FAR and a URR that we would refuse", "", func(w *wire) {
			w.session(1, 9, append(ies{ie.NewCreateFAR(ie.NewFARID(2)), ie.NewCreateURR(ie.NewURRID(1))}, usual...), created)
		}, known},

		{"refused", "", func(w *wire) {
			w.cp(0, octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, 1, 0, append(usual, cpNode, cpSEID, far)...)))
			w.up(1, octets(t, message.NewSessionEstablishmentResponse(0, 0, 77, 1, 0, upNode, ie.NewCause(ie.CauseNoResourcesAvailable))))
		}, map[string]string{}},
		{"not answered yet", "", func(w *wire) {
			w.cp(0, octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, 1, 0, append(usual, cpNode, cpSEID, far)...)))
		}, map[string]string{}},
		{"deleted", "", func(w *wire) { w.session(1, 9, usual, created); w.remove(2, 9) }, map[string]string{}},
		{"another session deleted", "", func(w *wire) { w.session(1, 9, usual, created); w.remove(2, 8) }, known},

		{"a PDR more, and one less", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.modify(2, 9, ies{ie.NewRemovePDR(ie.NewPDRID(1)), pdr(3, access(choose))}, ies{ie.NewCreatedPDR(ie.NewPDRID(3), fteid(0x80000002))})
		}, map[string]string{"0x80000002": slice, "10.45.0.3/32": slice}},
		{"a key of two PDRs stays with one", "", func(w *wire) {
			w.session(1, 9, append(ies{pdr(3, access(choose))}, usual...), append(ies{ie.NewCreatedPDR(ie.NewPDRID(3), fteid(0x80000001))}, created...))
			w.modify(2, 9, ies{ie.NewRemovePDR(ie.NewPDRID(3))}, nil)
		}, known},
		{"another PDI", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.modify(2, 9, ies{ie.NewUpdatePDR(ie.NewPDRID(2), core(ue("10.45.0.4")))}, nil)
		}, map[string]string{"0x80000001": slice, "10.45.0.4/32": slice}},
		{"what was chosen stays", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.modify(2, 9, ies{ie.NewUpdatePDR(ie.NewPDRID(1), access(choose, ie.NewQFI(3)))}, nil)
		}, known},
		{"an F-TEID chosen anew", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.modify(2, 9, ies{ie.NewUpdatePDR(ie.NewPDRID(1), access(choose))}, ies{ie.NewUpdatedPDR(ie.NewPDRID(1), fteid(0x80000007))})
		}, map[string]string{"0x80000007": slice, "10.45.0.3/32": slice}},
		{"another S-NSSAI", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.modify(2, 9, ies{ie.NewSNSSAI(3, 0xffffff)}, nil)
		}, map[string]string{"0x80000001": "3/internet", "10.45.0.3/32": "3/internet"}},
		{"began before anybody looked", "", func(w *wire) {
			w.modify(2, 9, ies{pdr(3, access(fteid(6), ie.NewNetworkInstance("late")))}, nil)
		}, map[string]string{"0x6": "late"}},
		{"the other address of the UP F-SEID", "", func(w *wire) {
			w.cp(0, octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, 1, 0, append(usual, cpNode, cpSEID, far)...)))
			w.up(1, octets(t, message.NewSessionEstablishmentResponse(0, 0, 77, 1, 0, append(ies{upNode, accept, ie.NewFSEID(9, net.ParseIP("10.4.0.7"), nil)}, created...)...)))
			there := netip.MustParseAddrPort("10.4.0.7:8805")
			w.at(2, cpEnd, there, deletion(t, 2, 9))
			w.at(3, there, cpEnd, deletionResponse(t, 2, ie.CauseRequestAccepted))
		}, map[string]string{}},

		{"an address is given away before its answer has passed", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.cp(2, deletion(t, 2, 9))
			w.session(3, 10, ies{pdr(1, access(fteid(0x80000001))), ie.NewAPNDNN("new")}, nil)
			w.up(3, deletionResponse(t, 2, ie.CauseRequestAccepted))
		}, map[string]string{"0x80000001": "new"}},
		{"the association is released", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.cp(2, octets(t, message.NewAssociationReleaseRequest(2, cpNode)))
			w.up(3, octets(t, message.NewAssociationReleaseResponse(2, upNode, accept)))
		}, map[string]string{}},
		{"a set of sessions is deleted", "", func(w *wire) {
			w.session(1, 9, append(ies{ie.NewFQCSID("10.4.0.2", 3, 4)}, usual...), created)
			w.deleteSet(2, w.cp, w.up, ie.NewFQCSID("10.4.0.2", 4))
		}, map[string]string{}},
		{"another set", "", func(w *wire) {
			w.session(1, 9, append(ies{ie.NewFQCSID("10.4.0.2", 3)}, usual...), created)
			w.deleteSet(2, w.cp, w.up, ie.NewFQCSID("10.4.0.2", 4))
		}, known},
		{"the same set of another node", "", func(w *wire) {
			w.session(1, 9, append(ies{ie.NewFQCSID("10.4.0.2", 4)}, usual...), created)
			w.deleteSet(2, w.cp, w.up, ie.NewFQCSID("10.4.0.3", 4))
		}, known},
		{"a set that the UP function made, and deletes", "", func(w *wire) {
			w.session(1, 9, usual, append(ies{ie.NewFQCSID("10.4.0.1", 7)}, created...))
			w.deleteSet(2, w.up, w.cp, ie.NewFQCSID("10.4.0.1", 7))
		}, map[string]string{}},
		{"a set that the session has left", "", func(w *wire) {
			w.session(1, 9, append(ies{ie.NewFQCSID("10.4.0.2", 4)}, usual...), created)
			w.modify(2, 9, ies{ie.NewFQCSID("10.4.0.2", 5)}, nil)
			w.deleteSet(3, w.cp, w.up, ie.NewFQCSID("10.4.0.2", 4))
		}, known},
		{"the association is set up anew", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.cp(2, octets(t, message.NewAssociationSetupRequest(2, cpNode)))
			w.up(3, octets(t, message.NewAssociationSetupResponse(2, upNode, accept)))
		}, map[string]string{}},
		{"and its sessions retained", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.cp(2, octets(t, message.NewAssociationSetupRequest(2, cpNode, ie.NewPFCPSessionRetentionInformation(ie.NewCPPFCPEntityIPAddress(net.ParseIP("10.4.0.2"), nil)))))
			w.up(3, octets(t, message.NewAssociationSetupResponse(2, upNode, accept)))
		}, known},

		{"and nobody knows whether sessions are retained", "", func(w *wire) {
			w.session(1, 9, usual, created)
			w.learner.held += maxHeld
			w.cp(2, octets(t, message.NewAssociationSetupRequest(2, cpNode)))
			w.learner.held -= maxHeld
			w.learner.full = 0
			w.up(3, octets(t, message.NewAssociationSetupResponse(2, upNode, accept)))
		}, known},
		{"a name that a terminal would obey", "", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(fteid(5), ie.New(ie.NetworkInstance, []byte("a\x1b[2Jb\xff"))))}, nil)
		}, map[string]string{"0x5": "a?[2Jb?"}},
		{"a name that is too long", "", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(fteid(5))), ie.New(ie.APNDNN, make([]byte, maxName+1))}, nil)
		}, map[string]string{"0x5": ""}},

		{"slices by name", "slices: [{name: embb, sst: 1, sd: \"010203\"}, {name: rest, sst: 1}]",
			func(w *wire) { w.session(1, 9, usual, created) }, map[string]string{"0x80000001": "embb", "10.45.0.3/32": "embb"}},
		{"by QFI, of a QER and of a PDI", "slices: [{name: voice, qfis: [5]}, {name: video, qfis: [6]}]", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(fteid(5)), ie.NewQERID(1)), pdr(2, access(fteid(6), ie.NewQFI(6))), pdr(3, access(fteid(7))), qer(1, 5)}, nil)
		}, map[string]string{"0x5": "voice", "0x6": "video", "0x7": ""}},
		{"a QER with another QFI", "slices: [{name: voice, qfis: [5]}]", func(w *wire) {
			w.session(1, 9, ies{pdr(1, access(fteid(5)), ie.NewQERID(1)), qer(1, 4)}, nil)
			w.modify(2, 9, ies{ie.NewUpdateQER(ie.NewQERID(1), ie.NewQFI(5))}, nil)
		}, map[string]string{"0x5": "voice"}},
		{"what the file says of packets", "slices: [{name: mine, teids: [0x80000001], ues: [10.45.0.0/24]}]",
			func(w *wire) { w.session(1, 9, usual, created); w.remove(2, 9) }, map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Config{}
			if tc.slices != "" {
				c.Slices = mapOf(t, tc.slices)
			}
			w := newWire(t, c)
			tc.run(w)
			got := map[string]string{}
			for k, s := range w.learnt {
				got[keyText(k)] = s
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("known (-want +got):\n%s\n%v", diff, w.log)
			}
			l := w.learner.snapshot()
			if l.Keys != uint64(len(tc.want)) || l.Undecoded != 0 || l.Full != 0 {
				t.Errorf("got %+v, want %d keys", l, len(tc.want))
			}
			if waits := len(w.learner.heldBodies(w.table)); w.learner.held > 0 != (waits > 0) {
				t.Errorf("holds %d octets of %d requests", w.learner.held, waits)
			}
		})
	}
}

// heldBodies are the requests that wait and are learnt from.
func (l *learner) heldBodies(t *table) (bodies [][]byte) {
	for i := range t.entries {
		if b := t.entries[i].body; len(b) > 0 {
			bodies = append(bodies, b)
		}
	}
	return bodies
}

// TestLearnBounds fills the tables of sessions.
func TestLearnBounds(t *testing.T) {
	w := newWire(t, Config{Sessions: 3})
	for i := range 5 {
		w.session(uint32(i), uint64(i+1), ies{pdr(1, access(fteid(uint32(i+1))))}, nil)
	}
	if l := w.learner.snapshot(); l != (Learnt{Sessions: 3, Keys: 3, Accepted: 3, Full: 2}) {
		t.Errorf("5 sessions for 3: got %+v", l)
	}
	w.remove(10, 1)
	var many ies
	for i := range 200 {
		many = append(many, pdr(uint16(i+1), access(fteid(uint32(100+i)))))
	}
	w.session(11, 9, many, nil)
	if l := w.learner.snapshot(); l.Sessions != 3 || l.Keys != 3*keysOfSession || l.Full != 2+200-(3*keysOfSession-2) {
		t.Errorf("a session of 200 keys: got %+v", l)
	}
	for i := range 3 {
		w.remove(uint32(20+i), []uint64{2, 3, 9}[i])
	}
	if l := w.learner.snapshot(); l.Sessions != 0 || l.Keys != 0 || len(w.learnt) != 0 || len(w.learner.byPeers) != 0 || len(w.learner.sessions) != 0 || w.learner.kept != 0 {
		t.Errorf("after all: got %+v, %v", l, w.learnt)
	}
}

// TestKeptBound changes sessions of many rules and QERs: what is kept of all together is
// bounded, and is nothing after their end.
func TestKeptBound(t *testing.T) {
	const sessions = 20
	w := newWire(t, Config{Sessions: sessions})
	for i := range sessions {
		var request ies
		for id := range 100 {
			request = append(request, pdr(uint16(id+1), access(fteid(uint32(1+i*1000+id)))), qer(uint32(id+1), 5))
		}
		w.session(uint32(i), uint64(i+1), request, nil)
		w.modify(uint32(100+i), uint64(i+1), ies{ie.NewRemovePDR(ie.NewPDRID(7))}, nil)
	}
	l, kept := w.learner, 0
	for _, s := range l.sessions {
		kept += len(s.qfis) / qfisOfUnit
		for i := range s.rules {
			kept += s.rules[i].size()
		}
		if cap(s.rules) > 2*maxRules {
			t.Errorf("room for %d rules of one session", cap(s.rules))
		}
	}
	if kept != l.kept || kept > keptOfSession*sessions || kept < keptOfSession*sessions/2 || l.full == 0 {
		t.Errorf("keeps %d by its count, %d in fact, %d for which there was no room: want up to %d", l.kept, kept, l.full, keptOfSession*sessions)
	}
	for i := range sessions {
		w.remove(uint32(200+i), uint64(i+1))
	}
	if l.kept != 0 || len(l.owners) != 0 || len(w.learnt) != 0 {
		t.Errorf("after all: keeps %d, %d keys", l.kept, len(l.owners))
	}
}

// TestHeldBound sends requests that nobody answers: what is kept of them is bounded.
func TestHeldBound(t *testing.T) {
	w := newWire(t, Config{Transactions: 2000})
	for i := range 2000 {
		w.cp(0, octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, uint32(i), 0, cpNode, cpSEID, ie.New(0x7000, make([]byte, 30_000)))))
	}
	if l := w.learner; l.held > maxHeld || l.full == 0 {
		t.Errorf("holds %d octets, %d for which there was no room: want up to %d", l.held, l.full, maxHeld)
	}
	w.expire(msNs(100_000))
	if w.learner.held != 0 || len(w.table.byKey) != 0 {
		t.Errorf("after the timeout: holds %d octets, %d transactions", w.learner.held, len(w.table.byKey))
	}
}

// TestUndecoded counts what cannot be read and is accepted all the same.
func TestUndecoded(t *testing.T) {
	w := newWire(t, Config{})
	w.cp(0, octets(t, message.NewSessionEstablishmentRequest(0, 0, 0, 1, 0, cpNode))) // without F-SEID
	w.up(1, octets(t, message.NewSessionEstablishmentResponse(0, 0, 77, 1, 0, upNode, accept, ie.NewFSEID(9, net.ParseIP("10.4.0.1"), nil))))
	if l := w.learner.snapshot(); l != (Learnt{Undecoded: 1}) {
		t.Errorf("got %+v, want 1 undecoded", l)
	}
}

// TestNoIEs wants a body that is no sequence of IEs not learnt from.
func TestNoIEs(t *testing.T) {
	for _, body := range [][]byte{{0}, {0, 1, 0, 1}, {0, 1, 0, 0, 7}} {
		if b, ok := appendMatter(nil, body); ok || len(b) > 4 {
			t.Errorf("%x: got %x, %v", body, b, ok)
		}
	}
}

// TestLearnOrder wants a key told as it is now, in the order of the responses.
func TestLearnOrder(t *testing.T) {
	w := newWire(t, Config{})
	w.session(1, 9, ies{pdr(1, access(fteid(5))), ie.NewAPNDNN("a")}, nil)
	w.modify(2, 9, ies{ie.NewSNSSAI(1, 0xffffff)}, nil)
	w.modify(3, 9, ies{ie.NewRemovePDR(ie.NewPDRID(1)), pdr(2, access(fteid(6)))}, nil)
	w.remove(4, 9)
	if diff := cmp.Diff([]string{"+0x5=a", "+0x5=1/a", "-0x5", "+0x6=1/a", "-0x6"}, w.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
