package programs

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumbline/lab/apps"
)

// Ports of SIP and of the server's RTP.
const (
	sipPort = 5060
	rtpPort = 7000
)

var echoedRTP = regexp.MustCompile(`(\d+) Total echo RTP pckts 1st stream`)

// SIPp has a UE make calls to a server that answers and echoes RTP, and returns
// how many packets of RTP the server echoed. It fails unless every call was
// answered and ended as it should.
func SIPp(t testing.TB, client string, from netip.Addr, server string, to netip.Addr, calls int) (echoed int) {
	t.Helper()
	n, dir := strconv.Itoa(calls), t.TempDir()
	answering, stop := startUAS(t, server, to, write(t, dir, "uas.xml", apps.Answerer))
	counts := filepath.Join(dir, "uac.csv")
	Output(t, client, "sipp", "-sf", write(t, dir, "uac.xml", apps.Caller), netip.AddrPortFrom(to, sipPort).String(), "-i", host(from), "-mi", host(from),
		"-m", n, "-r", "20", "-d", "500", "-nostdin", "-timeout", "30s", "-timeout_error", "-trace_stat", "-stf", counts)
	got := lastRow(t, counts)
	for name, want := range map[string]string{"TotalCallCreated": n, "SuccessfulCall(C)": n, "FailedCall(C)": "0"} {
		if got[name] != want {
			t.Errorf("SIPp calls from %v to %v: %s: got %s, want %s", from, to, name, got[name], want)
		}
	}
	stop()
	m := echoedRTP.FindSubmatch(answering.Bytes())
	if m == nil {
		t.Fatalf("SIPp server at %v: want a count of RTP\n%s", to, answering)
	}
	echoed, _ = strconv.Atoi(string(m[1])) // digits
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

// host is how SIPp wants an address.
func host(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// startUAS starts the end that answers. What it has printed is whole when stop
// has returned.
func startUAS(t testing.TB, namespace string, at netip.Addr, scenario string) (printed *bytes.Buffer, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(ctx, namespace, "sipp", "-sf", scenario, "-i", host(at), "-mi", host(at), "-p", strconv.Itoa(sipPort),
		"-rtp_echo", "-mp", strconv.Itoa(rtpPort), "-nostdin")
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
	var sockets strings.Builder
	err := within(namespace, func() error {
		for _, table := range []string{"udp", "udp6"} {
			text, err := os.ReadFile("/proc/thread-self/net/" + table)
			if err != nil {
				return err
			}
			sockets.Write(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(sockets.String(), fmt.Sprintf(":%04X ", port))
}

// lastRow returns the last row of a table of SIPp's statistics, by column.
func lastRow(t testing.TB, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	values, last := make(map[string]string), strings.Split(rows[len(rows)-1], ";")
	for i, name := range strings.Split(rows[0], ";") {
		if i < len(last) {
			values[name] = last[i]
		}
	}
	return values
}
