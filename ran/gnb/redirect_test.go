package gnb_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

const portal = "http://portal.example.org/pay"

// TestRedirect runs curl and ping in a UE whose traffic the UPF redirects: to a
// URL, where the UPF itself is the web server of all addresses, and to a host,
// which the programs take for the one that they asked.
func TestRedirect(t *testing.T) {
	bed := newBed(t, topology.Config{Name: "plt-gnb-redir"})
	d := openXDP(t, bed)
	ue := gnb.UE{
		Name: "ue0", Namespace: newNamespace(t, "redir"), QFI: 9, UplinkTEID: 0x11, DownlinkTEID: 0x22, UPF: bed.N3.UPF.Address.Addr(),
		Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("fd64::1")},
	}
	labtest.RunGNB(t, gnb.Config{N3: gnb.N3{Address: bed.N3.Peer.Address.Addr(), Namespace: bed.GNB.Name}, UEs: []gnb.UE{ue}})
	install := func(to *api.Redirect) {
		t.Helper()
		s := redirected(bed, ue, to)
		if err := d.Apply(context.Background(), &api.Change{Seid: 1, Session: s}); err != nil {
			t.Fatal(err)
		}
	}
	file := programs.NewContent(1 << 20)
	programs.ServeHTTP(t, bed.DN.Name, file)
	server, server6 := bed.N6.Peer.Address.Addr(), bed.N6.Peer.Address6.Addr()

	install(nil)
	out, _ := exec.Command("nsenter", "--net=/run/netns/"+ue.Namespace, "ping", "-c", "1", "-t", "1", "-W", "10", server.String()).CombinedOutput()
	if router := bed.N6.UPF.Address.Addr().String(); !strings.Contains(string(out), "From "+router) || !strings.Contains(string(out), "exceeded") {
		t.Errorf("ping of TTL 1: want the UPF at %s to say that it ran out\n%s", router, out)
	}

	install(&api.Redirect{Url: portal})
	for _, any := range []string{"198.18.0.1", "[2001:db8:99::1]", server.String()} {
		got := programs.Output(t, ue.Namespace, "curl", "--silent", "--show-error", "--max-time", "30", "--output", filepath.Join(t.TempDir(), "none"),
			"--write-out", "%{http_code} %{redirect_url}", "http://"+any+"/some/page?with=more")
		if want := "302 " + portal; string(got) != want {
			t.Errorf("curl of %s: %s, want %s", any, got, want)
		}
	}

	host := server.As4()
	install(&api.Redirect{Ipv4: binary.BigEndian.Uint32(host[:])})
	programs.Curl(t, ue.Namespace, netip.MustParseAddr("198.18.0.1"), file)
	programs.Ping(t, ue.Namespace, netip.MustParseAddr("198.18.0.2"), 56)
	install(&api.Redirect{Ipv6: server6.AsSlice()})
	programs.Curl(t, ue.Namespace, netip.MustParseAddr("2001:db8:99::1"), file)
}

// openXDP opens the XDP datapath in the UPF's namespace.
func openXDP(t *testing.T, bed *topology.Topology) *xdp.Driver {
	t.Helper()
	var d *xdp.Driver
	err := bed.UPF.Do(func() (err error) {
		d, err = xdp.New(xdp.Config{
			Endpoints: []datapath.Endpoint{{Name: "n3", Device: bed.N3.UPF.Device, Address: bed.N3.UPF.Address.Addr()}},
			N6: datapath.N6{Networks: []datapath.DataNetwork{{
				Name: "n6", Device: bed.N6.UPF.Device, Gateways: []netip.Addr{bed.N6.Peer.Address.Addr(), bed.N6.Peer.Address6.Addr()},
			}}},
			Mode: xdp.Native, MaxSessions: 16, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		drops, err := d.Drops()
		if err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("drops: %v", drops)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// redirected is the session of ue whose uplink is redirected; nil: not.
func redirected(bed *topology.Topology, ue gnb.UE, to *api.Redirect) *api.Session {
	number := func(a netip.Addr) uint32 {
		b := a.As4()
		return binary.BigEndian.Uint32(b[:])
	}
	prefix := ue.Addresses[1].As16()
	address := &api.UEAddress{Ipv4: number(ue.Addresses[0]), Ipv6Prefix: binary.BigEndian.Uint64(prefix[:])}
	return &api.Session{Seid: 1, Qers: []*api.QER{{Id: 1, Qfi: 9}}, Rules: []*api.Rule{
		{
			PdrId: 1, OuterHeaderRemoval: true,
			Detect:  &api.Detect{FTeid: &api.FTEID{Teid: ue.UplinkTEID, Ipv4: number(ue.UPF)}, UeAddress: address},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, Redirect: to},
		},
		{
			PdrId: 2, QerIds: []uint32{1}, Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: address},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: ue.DownlinkTEID, Ipv4: number(bed.N3.Peer.Address.Addr())},
			},
		},
	}}
}
