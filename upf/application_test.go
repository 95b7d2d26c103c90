package upf

import (
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// TestApplication: a UE's requests to one host of a server are dropped by a PDR of
// an application, known by its domain name; those to another host, at the same
// address, are not.
func TestApplication(t *testing.T) {
	b := newNamedBed(t, "plt-app")
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	pfds := ask[*message.PFDManagementResponse](t, b.smf, message.NewPFDManagementRequest(b.smf.next(),
		ie.NewApplicationIDsPFDs(ie.NewApplicationID("blocked"),
			ie.NewPFDContext(ie.NewPFDContents("", "", "blocked.test", "", "", nil, nil, nil)))))
	accepted(t, pfds.Cause)
	s := b.smf.establish(t)
	tunnel := ie.NewFTEID(0x01, uint32(s.teid), s.n3.AsSlice(), nil, 0)
	r := ask[*message.SessionModificationResponse](t, b.smf, message.NewSessionModificationRequest(0, 0, uint64(s.seid), b.smf.next(), 0,
		ie.NewCreatePDR(ie.NewPDRID(3), ie.NewPrecedence(10),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), tunnel, ie.NewUEIPAddress(2, ueAddress1.String(), "", 0, 0),
				ie.NewApplicationID("blocked")),
			ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(3)),
		ie.NewCreateFAR(ie.NewFARID(3), ie.NewApplyAction(1))))
	accepted(t, r.Cause)
	ue := gnb.UE{
		Name: "app", Namespace: namespace(t, "app"), Addresses: []netip.Addr{ueAddress1},
		UplinkTEID: uint32(s.teid), DownlinkTEID: gnbTEID, QFI: 9,
	}
	(&chain{relay: b}).startGNB(t, []gnb.UE{ue})
	pingOnce(t, ue.Namespace, "10.6.0.2", "56")
	serveHosts(t, b)

	get := func(host, seconds string) string {
		out, _ := exec.Command("nsenter", "--net=/run/netns/"+ue.Namespace,
			"curl", "-s", "--noproxy", "*", "-m", seconds, "-H", "Host: "+host, "http://10.6.0.2:8080/").Output()
		return string(out)
	}
	if got := get("free.test", "20"); got != "free.test" {
		t.Errorf("free.test: got %q", got)
	}
	if got := get("blocked.test", "1"); got != "" {
		t.Errorf("blocked.test: got %q, want nothing", got)
	}
	if got := get("free.test", "20"); got != "free.test" {
		t.Errorf("free.test after that: got %q", got)
	}
	got, err := b.api.Session(t.Context(), s.seid)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Rules.PDRs {
		if p.ID == 3 && (p.Usage.Packets != 0 || p.Usage.DroppedPackets == 0) {
			t.Errorf("PDR 3: counted %+v, want dropped packets only", p.Usage)
		}
	}
}

// serveHosts is a web server in the data network that says which host it was
// asked for.
func serveHosts(t *testing.T, b *bed) {
	t.Helper()
	var l net.Listener
	err := b.DN.Do(func() (err error) {
		l, err = net.Listen("tcp", "10.6.0.2:8080")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Host))
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
}
