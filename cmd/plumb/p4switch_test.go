package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plumbline-upf/plumbline/p4/p4rt"
	"github.com/plumbline-upf/plumbline/p4/port"
	"github.com/plumbline-upf/plumbline/p4/target"
)

// bridgeProgram is a P4 program, without the ends of its files' names.
const bridgeProgram = "../../p4/target/testdata/bridge"

// ip runs ip(8).
func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// TestP4Switch runs plumb p4switch between two namespaces: what a controller says has ping go through, and the counts say so,
// and of which kind its ports are.
//
//	plt-p4h1: h1 10.9.0.1 ─── s1, port 1: plt-p4sw :port 2, s2 ─── h2 10.9.0.2 :plt-p4h2
func TestP4Switch(t *testing.T) {
	for ports, mode := range map[string]port.Mode{"auto": port.ModePacket, "af_xdp": port.ModeNative} {
		t.Run(ports, func(t *testing.T) { testP4Switch(t, ports, mode) })
	}
}

func testP4Switch(t *testing.T, ports string, mode port.Mode) {
	for _, name := range []string{"plt-p4sw", "plt-p4h1", "plt-p4h2"} {
		_ = exec.Command("ip", "netns", "del", name).Run() // of a test that was killed
		ip(t, "netns add "+name)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	}
	for _, n := range []int{1, 2} {
		ip(t, fmt.Sprintf("-n plt-p4sw link add s%d type veth peer name h%d netns plt-p4h%d", n, n, n))
		ip(t, fmt.Sprintf("-n plt-p4sw link set s%d up", n))
		ip(t, fmt.Sprintf("-n plt-p4h%d link set h%d address 02:00:00:00:00:0%d up", n, n, n))
		ip(t, fmt.Sprintf("-n plt-p4h%d addr add 10.9.0.%d/24 dev h%d", n, n, n))
		ip(t, fmt.Sprintf("-n plt-p4h%d neigh add 10.9.0.%d lladdr 02:00:00:00:00:0%d dev h%d", n, 3-n, 3-n, n))
	}
	socket := filepath.Join(t.TempDir(), "grpc")
	cmd := exec.Command("ip", "netns", "exec", "plt-p4sw", "plumb", "p4switch", "-i", "1@s1", "-i", "2@s2", "--workers", "2", "--ports", ports, "--grpc", "unix:"+socket, "--json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	control(t, socket)
	out, err := exec.Command("ip", "netns", "exec", "plt-p4h1", "ping", "-c", "5", "-i", "0.05", "-W", "5", "-s", "1400", "10.9.0.2").CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0% packet loss") {
		t.Errorf("ping: %v: %s", err, out)
	}
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	ended = true
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	decoder := json.NewDecoder(&stdout)
	for _, when := range []string{"SIGUSR1", "end"} {
		var r target.Report
		if err := decoder.Decode(&r); err != nil {
			t.Fatalf("%s: %v: %s", when, err, stderr.String())
		}
		if len(r.Ports) != 2 || r.Ports[0].RxFrames < 5 || r.Ports[1].TxFrames < 5 || r.Ports[1].RxFrames < 5 || r.Ports[0].TxFrames < 5 || r.P4Runtime.Updates != 2 || r.Ports[0].Mode != mode {
			t.Errorf("%s: got %+v, want 5 frames each way and 2 updates, mode %s", when, r, mode)
		}
	}
}

// control sets the pipeline and the entries of both hosts.
func control(t *testing.T, socket string) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///switch", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	client := p4.NewP4RuntimeClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	stream, err := client.StreamChannel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := &p4.Uint128{Low: 1}
	arbitration := &p4.StreamMessageRequest_Arbitration{Arbitration: &p4.MasterArbitrationUpdate{DeviceId: 1, ElectionId: id}}
	if err := stream.Send(&p4.StreamMessageRequest{Update: arbitration}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	pipeline, err := p4rt.ReadPipeline(bridgeProgram+".json", bridgeProgram+".p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetForwardingPipelineConfig(ctx, &p4.SetForwardingPipelineConfigRequest{DeviceId: 1, ElectionId: id, Config: pipeline,
		Action: p4.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT}); err != nil {
		t.Fatal(err)
	}
	ids := map[string]uint32{}
	for _, x := range pipeline.GetP4Info().GetTables() {
		ids[x.GetPreamble().GetAlias()] = x.GetPreamble().GetId()
	}
	for _, x := range pipeline.GetP4Info().GetActions() {
		ids[x.GetPreamble().GetAlias()] = x.GetPreamble().GetId()
	}
	write := &p4.WriteRequest{DeviceId: 1, ElectionId: id}
	for n := byte(1); n <= 2; n++ {
		write.Updates = append(write.Updates, &p4.Update{Type: p4.Update_INSERT, Entity: &p4.Entity{Entity: &p4.Entity_TableEntry{TableEntry: &p4.TableEntry{
			TableId: ids["macs"],
			Match:   []*p4.FieldMatch{{FieldId: 1, FieldMatchType: &p4.FieldMatch_Exact_{Exact: &p4.FieldMatch_Exact{Value: []byte{2, 0, 0, 0, 0, n}}}}},
			Action: &p4.TableAction{Type: &p4.TableAction_Action{Action: &p4.Action{ActionId: ids["forward"],
				Params: []*p4.Action_Param{{ParamId: 1, Value: []byte{n}}}}}},
		}}}})
	}
	if _, err := client.Write(ctx, write); err != nil {
		t.Fatal(err)
	}
}
