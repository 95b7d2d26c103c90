package rancmd

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestDialect: plumb gnb --n4 and the VNF of nFAPI, which is such a gNB, tell a UPF what it
// insists on, and say with which Cause it refuses a session that is without.
func TestDialect(t *testing.T) {
	upf, own := netip.MustParseAddr("127.29.9.21"), netip.MustParseAddr("127.29.9.22")
	insistOnAll(t, upf)
	all := gnbDialect{DNN: "internet", N3Instance: "ran", N6Instance: "dn", InterfaceTypes: true}
	const keys = ", dnn: internet, n3_instance: ran, n6_instance: dn, interface_types: true"
	const refused = "No resources available: refused"

	file := filepath.Join(t.TempDir(), "gnb.yaml")
	text := "n3: {address: 127.0.0.1}\nues: [{name: plt-dialect, addresses: [10.64.0.1], downlink_teid: 1, qfi: 9}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dialect gnbDialect
		want    string
	}{"all": {all, ""}, "no DNN": {gnbDialect{N3Instance: "ran", N6Instance: "dn", InterfaceTypes: true}, refused}, "nothing": {gnbDialect{}, refused}} {
		t.Run("gnb "+name, func(t *testing.T) {
			c := GNB{Config: file, N4: upf, SMF: own, Dialect: tc.dialect, Duration: 500 * time.Millisecond}
			checkRefusal(t, gnbRun{}.Run(t.Context(), io.Discard, &c), tc.want)
		})
	}
	for name, tc := range map[string]struct{ keys, want string }{
		"all": {keys, ""}, "no instance": {", dnn: internet, interface_types: true", refused}, "nothing": {"", refused},
	} {
		t.Run("nfapi "+name, func(t *testing.T) {
			g := newNFAPIGNB()
			text := "core: {n3: {address: 127.0.0.1}, n4: 127.29.9.21, smf: 127.29.9.22" + tc.keys + "}"
			file := filepath.Join(t.TempDir(), "vnf.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := yamltext.Load(file, &g, nil); err != nil {
				t.Fatal(err)
			}
			l, err := g.open(t.Context(), slog.New(slog.DiscardHandler))
			checkRefusal(t, err, tc.want)
			if err != nil {
				return
			}
			l.core.Close()
			if err := l.release(); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkRefusal compares an error with what is to be in it; "": no error.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q in it", err, want)
	}
}

// insistOnAll answers PFCP at an address, as a UPF that refuses sessions which leave out what
// a dialect has.
func insistOnAll(t *testing.T, node netip.Addr) {
	t.Helper()
	answerAt(t, node, func(h pfcp.Header, body []byte) (uint64, pfcp.Message) { return insist(node, h, body) })
}

// answerAt answers PFCP at an address; nil: not.
func answerAt(t *testing.T, node netip.Addr, answer func(pfcp.Header, []byte) (seid uint64, m pfcp.Message)) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(node, pfcp.Port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return // closed
			}
			h, body, _, err := pfcp.Parse(b[:n])
			if err != nil {
				t.Error(err)
				continue
			}
			seid, m := answer(h, body)
			if m == nil {
				continue
			}
			out, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: h.Sequence}, m)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := conn.WriteToUDPAddrPort(out, from); err != nil {
				t.Error(err)
			}
		}
	}()
}

func insist(node netip.Addr, h pfcp.Header, body []byte) (uint64, pfcp.Message) {
	id, accepted := pfcp.NodeID{Addr: node}, pfcp.CauseRequestAccepted
	switch h.Type {
	case pfcp.MsgAssociationSetupRequest:
		return 0, &pfcp.AssociationSetupResponse{
			NodeID: id, Cause: accepted, RecoveryTimeStamp: pfcp.NewTimeStamp(time.Now()), UPFunctionFeatures: pfcp.Some(pfcp.UPFeatureFTUP)}
	case pfcp.MsgAssociationReleaseRequest:
		return 0, &pfcp.AssociationReleaseResponse{NodeID: id, Cause: accepted}
	case pfcp.MsgSessionDeletionRequest:
		return h.SEID, &pfcp.SessionDeletionResponse{Cause: accepted} // both SEIDs are the same
	case pfcp.MsgSessionEstablishmentRequest:
		var m pfcp.SessionEstablishmentRequest
		if err := m.Decode(body); err != nil || !isWhole(&m) {
			return m.CPFSEID.SEID, &pfcp.SessionEstablishmentResponse{NodeID: id, Cause: pfcp.CauseNoResourcesAvailable}
		}
		return m.CPFSEID.SEID, &pfcp.SessionEstablishmentResponse{
			NodeID: id, Cause: accepted, UPFSEID: pfcp.Some(pfcp.FSEID{SEID: m.CPFSEID.SEID, IPv4: node}),
			CreatedPDRs: []pfcp.CreatedPDR{{PDRID: m.CreatePDRs[0].PDRID, LocalFTEIDs: []pfcp.FTEID{{TEID: 7, V4: true, IPv4: node}}}},
		}
	}
	return 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: pfcp.NewTimeStamp(time.Now())}
}

// isWhole reports whether a request has a DNN, and with each interface its Network Instance
// and its 3GPP Interface Type.
func isWhole(m *pfcp.SessionEstablishmentRequest) bool {
	whole := m.APNDNN.String() == "internet" && len(m.CreatePDRs) == 2 && len(m.CreateFARs) == 2
	check := func(i pfcp.Interface, instance pfcp.Name, kind pfcp.Optional[pfcp.InterfaceType]) {
		wantInstance, wantKind := "ran", pfcp.InterfaceTypeN33GPPAccess
		if i == pfcp.InterfaceCore {
			wantInstance, wantKind = "dn", pfcp.InterfaceTypeN6
		}
		whole = whole && instance.String() == wantInstance && kind == pfcp.Some(wantKind)
	}
	for _, p := range m.CreatePDRs {
		check(p.PDI.SourceInterface, p.PDI.NetworkInstance, p.PDI.InterfaceType)
	}
	for _, f := range m.CreateFARs {
		to := f.ForwardingParameters.Value
		check(to.DestinationInterface, to.NetworkInstance, to.InterfaceType)
	}
	return whole
}
