package gnb_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plumbline/gnb"
	"plumbline/lab/dut"
	"plumbline/lab/n4load"
	"plumbline/lab/topology"
	"plumbline/pfcp"
	"plumbline/upf"
)

// buildPlumb compiles the program whose UPF the test runs. The go command is
// that of `go test`, which says where it is; PATH is not what it was if the
// test is run by sudo.
func buildPlumb(t *testing.T) string {
	t.Helper()
	goTool := "go"
	if root := os.Getenv("GOROOT"); root != "" {
		goTool = filepath.Join(root, "bin", "go")
	}
	binary := filepath.Join(t.TempDir(), "plumb")
	out, err := exec.Command(goTool, "build", "-buildvcs=false", "-o", binary, "plumbline/cmd/plumb").CombinedOutput()
	if err != nil {
		t.Fatalf("build plumb: %v\n%s", err, out)
	}
	return binary
}

// TestPrograms runs ping, curl and iperf3 between a UE and a data network
// through the gNB and `plumb upf` with its XDP datapath.
//
//	…-ue           …-gnb               …-upf              …-dn
//	ping   ─ TUN ─ gNB ─ n3 ── N3 ── n3 ─ XDP ─ n6 ── N6 ── n6  HTTP server
//	curl                             └ plumb upf ┘              iperf3 --server
//	iperf3                                                      ping
func TestPrograms(t *testing.T) {
	binary := buildPlumb(t)
	for _, tc := range []struct {
		name     string
		mode     string
		onAStick bool
	}{
		{"native", upf.ModeNative, false},
		{"native, one device", upf.ModeNative, true},
		{"generic", upf.ModeGeneric, false},
		{"generic, one device", upf.ModeGeneric, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bed := newBed(t, topology.Config{Name: "plt-gnb-e2e", OnAStick: tc.onAStick})
			startUPF(t, bed, binary, tc.mode)
			ue := gnb.UE{
				Name: "ue0", Namespace: newNamespace(t, "ue"), QFI: 9, DownlinkTEID: 0x2001,
				Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("fd64::1")},
			}
			n3 := bed.N3.Peer.Address.Addr()
			establish(t, bed, &ue)
			g := start(t, gnb.Config{
				N3:  gnb.N3{Address: n3, Namespace: bed.GNB.Name, EchoInterval: time.Second},
				UEs: []gnb.UE{ue},
			})
			runPrograms(t, bed, ue, g)
		})
	}
}

func startUPF(t *testing.T, bed *topology.Topology, binary string, mode string) {
	t.Helper()
	c := upf.Default()
	c.NodeID = bed.Config.N4UPF.String()
	c.N4.Address = bed.Config.N4UPF
	c.N3 = upf.N3{Device: bed.N3.UPF.Device, Address: bed.N3.UPF.Address.Addr()}
	c.N6 = upf.N6{
		Device:  bed.N6.UPF.Device,
		Gateway: bed.N6.Peer.Address.Addr(), Gateway6: bed.N6.Peer.Address6.Addr(),
	}
	c.XDP.Mode = mode
	d, err := dut.Start(t.Context(), dut.Config{Binary: binary, Namespace: bed.UPF, UPF: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		datapath, err := d.Datapath(context.Background())
		if err := errors.Join(err, d.Stop()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("UPF's datapath: %+v\n%s", datapath, d.Log())
		}
	})
}

// establish makes the session of ue: the UPF chooses the uplink F-TEID.
func establish(t *testing.T, bed *topology.Topology, ue *gnb.UE) {
	t.Helper()
	var smf *n4load.Client
	err := bed.UPF.Do(func() (err error) {
		smf, err = n4load.Dial(n4load.Config{
			Local:  netip.AddrPortFrom(bed.Config.N4SMF, pfcp.Port),
			Remote: netip.AddrPortFrom(bed.Config.N4UPF, pfcp.Port),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { smf.Close() })
	if _, err := smf.Associate(t.Context()); err != nil {
		t.Fatal(err)
	}
	sessions := []n4load.Session{{
		LocalSEID: 1, DLTEID: ue.DownlinkTEID, UE: ue.Addresses[0], UEPrefix: netip.PrefixFrom(ue.Addresses[1], 64),
	}}
	template := &n4load.Template{GNB: bed.N3.Peer.Address.Addr(), QFI: pfcp.QFI(ue.QFI)}
	if _, err := smf.Establish(t.Context(), template, sessions); err != nil {
		t.Fatal(err)
	}
	ue.UplinkTEID, ue.UPF = sessions[0].ULTEID, sessions[0].N3
}

// runPrograms runs all programs between the UE and the data network of bed.
func runPrograms(t *testing.T, bed *topology.Topology, ue gnb.UE, g *gnb.GNB) {
	file := newContent(10 << 20)
	serveHTTP(t, bed.DN.Name, file)
	servers := []netip.Addr{bed.N6.Peer.Address.Addr(), bed.N6.Peer.Address6.Addr()}
	for i, server := range servers {
		ping(t, ue.Namespace, server, 56)
		ping(t, ue.Namespace, server, g.MTU()-48) // the largest that is not a fragment, for IPv6
		ping(t, bed.DN.Name, ue.Addresses[i], 56)
		curl(t, ue.Namespace, server, file)
	}
	tcp := []string{"--bytes", "64M"}
	udp := []string{"--bytes", "2M", "--udp", "--bitrate", "50M", "--length", "1200"}
	for _, run := range []struct {
		server netip.Addr
		flags  []string
	}{
		{servers[0], tcp},
		{servers[0], append(tcp, "--reverse")},
		{servers[1], append(tcp, "--bidir")},
		{servers[0], udp},
		{servers[1], append(udp, "--reverse")},
	} {
		iperf(t, ue.Namespace, bed.DN.Name, run.server, run.flags...)
	}

	s := g.Stats()
	if s.N3.Datagrams != s.N3.Delivered+s.N3.EchoResponses || s.UEs[0].OtherQFI != 0 {
		t.Errorf("got %+v, want nothing but user packets of QFI 9 and Echo Responses", s)
	}
	if s.UEs[0].UplinkErrors != 0 || s.UEs[0].DownlinkErrors != 0 {
		t.Errorf("got %+v, want no errors", s.UEs[0])
	}
	if s.Paths[0].EchoResponses == 0 {
		t.Errorf("got %+v, want answers", s.Paths[0])
	}
}
