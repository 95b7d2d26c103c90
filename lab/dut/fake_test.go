package dut

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestMain makes this program a UPF without a datapath, if it is called as one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("PLUMB_FAKE_UPF"); mode != "" {
		fmt.Fprintln(os.Stderr, fake(mode, netip.MustParseAddr(os.Args[1]), netip.MustParseAddr(os.Args[2])))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fake has the sockets of a UPF, and answers heartbeats unless it is silent.
func fake(mode string, n4, n3 netip.Addr) error {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(n4, pfcp.Port)))
	if err != nil {
		return err
	}
	if _, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(n3, gtpu.Port))); err != nil {
		return err
	}
	for b := make([]byte, maxDatagram); ; {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return err
		}
		h, _, _, err := pfcp.Parse(b[:n])
		if err != nil || mode == "silent" {
			continue
		}
		answer, err := pfcp.Append(nil, pfcp.Header{Sequence: h.Sequence}, &pfcp.HeartbeatResponse{RecoveryTimeStamp: pfcp.NewTimeStamp(time.Now())})
		if err != nil {
			return err
		}
		if _, err := conn.WriteToUDPAddrPort(answer, from); err != nil {
			return err
		}
	}
}

// fakeKind runs it from a script, which says hello and leaves a child behind.
func fakeKind(t *testing.T, mode, before string) Kind {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Kind{
		Name: "fake", Path: script(t, "fake", fmt.Sprintf("echo hello\ncat config\n%s\nsleep 600 &\nPLUMB_FAKE_UPF=%s exec %s \"$@\"", before, mode, self)),
		Plan: func(p *Place, directory string) (*Plan, error) {
			return &Plan{
				Args:  []string{p.N4UPF.String(), p.N3.UPF.Address.Addr().String()},
				Files: map[string]string{"config": "N3 " + p.N3.UPF.Device + "\n"}, Show: "config",
				Env: []string{"COLOUR=green"}, Silent: mode == "silent",
			}, nil
		},
	}
}

// newBed builds a bed, and has temporary files in a directory that must be empty after
// the test.
func newBed(t *testing.T) *topology.Topology {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	bed, err := topology.New(topology.Config{Name: "plt-dut"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return bed
}

func mustStart(t *testing.T, k Kind, p Place) *Instance {
	t.Helper()
	d, err := Start(t.Context(), k, p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// waitFor waits until f says so.
func waitFor(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// state is that of a process: R, S, T, ...; empty: it is gone, or nobody has asked how it ended.
func state(pid int) string {
	stat, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return ""
	}
	after := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
	return strings.TrimPrefix(after, "Z")
}

func mustList(t *testing.T, directory string) string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(entries)
}
