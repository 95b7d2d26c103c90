package n4

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// simpleSession is what the datapath has to hold of the simple PFCP client's
// session, the one with a QER.
func simpleSession(seid uint64) *api.Session {
	n3, n6 := uint32(pfcp.InterfaceTypeN33GPPAccess), uint32(pfcp.InterfaceTypeN6)
	return &api.Session{
		Seid: seid,
		Rules: []*api.Rule{
			{
				PdrId: 1, Precedence: 65535, FarId: 1, QerIds: []uint32{1},
				Detect: &api.Detect{SourceInterface: api.Interface_CORE, NetworkInstance: "internet",
					UeAddress: &api.UEAddress{Ipv4: 0x0a2d0002}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS, NetworkInstance: "internet", InterfaceType: &n3,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 2, Ipv4: 0xc0a80d83}},
			},
			{
				PdrId: 2, Precedence: 65535, FarId: 2, QerIds: []uint32{1}, OuterHeaderRemoval: true,
				Detect: &api.Detect{SourceInterface: api.Interface_ACCESS, NetworkInstance: "internet", Qfis: []uint32{1},
					FTeid: &api.FTEID{Teid: 1, Ipv4: 0xc0a80d97}, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0002}},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: "internet", InterfaceType: &n6},
			},
		},
		Qers: []*api.QER{{Id: 1, Qfi: 1, UplinkMbrBps: 200e9, DownlinkMbrBps: 200e9, UplinkGbrBps: 200e9, DownlinkGbrBps: 200e9}},
	}
}

// TestSimpleClientVectors replays the octets of the simple PFCP client.
func TestSimpleClientVectors(t *testing.T) {
	for _, name := range []string{"simple-client-establishment", "simple-client-establishment-qer", "simple-client-establishment-scapy"} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Config{})
			c := b.client(t, "127.0.0.1")
			for _, step := range []string{"simple-client-association", name, "simple-client-heartbeat-request", "simple-client-release"} {
				answer := c.ask(pfcptest.Get(t, step).Octets)
				if cause, ie := causeOf(t, answer); cause != pfcp.CauseRequestAccepted && step != "simple-client-heartbeat-request" {
					t.Fatalf("%s: %v, IE %v", step, cause, ie)
				}
				if step != name {
					continue
				}
				for seid, got := range b.driver.held() {
					want := simpleSession(seid)
					if name == "simple-client-establishment" {
						want.Rules[0].QerIds, want.Rules[1].QerIds, want.Qers = nil, nil, nil
					}
					if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
						t.Errorf("datapath (-want +got):\n%s", d)
					}
				}
				if n := len(b.driver.held()); n != 1 {
					t.Errorf("%d sessions, want 1", n)
				}
			}
			if n := len(b.driver.held()); n != 0 {
				t.Errorf("%d sessions after the release, want 0", n)
			}
		})
	}
}

// TestScapy runs the simple PFCP client, scapy and all.
func TestScapy(t *testing.T) {
	python := "/usr/bin/python3" // that of Debian's python3-scapy
	if err := exec.Command(python, "-c", "import scapy.contrib.pfcp").Run(); err != nil {
		if errors.Is(err, os.ErrNotExist) || isExit(err) {
			t.Skip("no scapy for /usr/bin/python3: apt-get install python3-scapy")
		}
		t.Fatal(err)
	}
	b := newBed(t, Config{Sockets: 1})
	cmd := exec.Command(python, "testdata/simple_client.py", b.Addr().Addr().String(), fmt.Sprint(b.Addr().Port()))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func() (m map[string]uint64) {
		if !lines.Scan() {
			t.Fatal("no line from the client")
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	setup, est, own := next(), next(), next()
	if setup["type"] != 6 || setup["cause"] != 1 || setup["sequence"] != 1 {
		t.Errorf("setup response %v", setup)
	}
	if est["type"] != 51 || est["cause"] != 1 || est["sequence"] != 2 || est["header_seid"] != own["cp_seid"] || est["seid"] == 0 {
		t.Errorf("establishment response %v, CP SEID %#x", est, own["cp_seid"])
	}
	want := map[uint64]*api.Session{est["seid"]: simpleSession(est["seid"])}
	if d := cmp.Diff(want, b.driver.held(), protocmp.Transform()); d != "" {
		t.Errorf("datapath (-want +got):\n%s", d)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if m := next(); m["type"] != 2 || m["sequence"] != 3 {
		t.Errorf("heartbeat response %v", m)
	}
	if m := next(); m["type"] != 10 || m["cause"] != 1 {
		t.Errorf("release response %v", m)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if n := len(b.driver.held()); n != 0 {
		t.Errorf("%d sessions after the release, want 0", n)
	}
}

func isExit(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e)
}
