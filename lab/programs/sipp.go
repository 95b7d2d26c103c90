package programs

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

const sipPort = 5060

// SIPp has a UE make calls to a server that answers and echoes RTP, and returns
// how many packets of RTP the server echoed. It fails unless every call was
// answered and ended as it should.
func SIPp(t testing.TB, client string, from netip.Addr, server string, to netip.Addr, calls int) (echoed int) {
	t.Helper()
	n, dir := strconv.Itoa(calls), t.TempDir()
	answering, stop := startUAS(t, server, to, write(t, dir, "uas.xml", apps.Answerer))
	counts := filepath.Join(dir, "uac.csv")
	Output(t, client, "sipp", "-sf", write(t, dir, "uac.xml", apps.Caller), netip.AddrPortFrom(to, sipPort).String(), "-i", apps.SIPHost(from), "-mi", apps.SIPHost(from),
		"-m", n, "-r", "20", "-d", "500", "-nostdin", "-timeout", "30s", "-timeout_error", "-trace_stat", "-stf", counts)
	table, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := apps.ParseCalls(string(table))
	if err != nil || got.Made != calls || got.Successful != calls || got.Failed != 0 {
		t.Errorf("SIPp calls from %v to %v: got %+v, %v, want %d successful", from, to, got, err, calls)
	}
	stop()
	if echoed = apps.ParseEcho(answering.Bytes()); echoed < 0 {
		t.Fatalf("SIPp server at %v: want a count of RTP\n%s", to, answering)
	}
	return echoed
}

// write makes a file and returns its path.
func write(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startUAS starts the end that answers. What it has printed is whole when stop
// has returned.
func startUAS(t testing.TB, namespace string, at netip.Addr, scenario string) (printed *bytes.Buffer, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(ctx, namespace, "sipp", "-sf", scenario, "-i", apps.SIPHost(at), "-mi", apps.SIPHost(at), "-p", strconv.Itoa(sipPort),
		"-rtp_echo", "-mp", strconv.Itoa(apps.RTPPort), "-nostdin")
	printed = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // its exit status is that of the signal
	t.Cleanup(func() { cancel(); <-ended })
	for deadline := time.Now().Add(serveTime); !listens(t, namespace, sipPort); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("SIPp does not listen at %v", at)
		}
	}
	return printed, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // SIPp prints its counts and ends
		select {
		case <-ended:
		case <-time.After(serveTime):
			t.Errorf("SIPp at %v does not end", at)
			cancel()
			<-ended
		}
	}
}

// listens reports whether a program has a UDP port of a namespace.
func listens(t testing.TB, namespace string, port int) bool {
	t.Helper()
	has := false
	err := nsenter.In(namespace, func() error {
		sockets, err := topology.UDPSockets()
		for _, s := range sockets {
			has = has || s.LocalPort == uint64(port)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}
