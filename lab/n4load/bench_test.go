package n4load

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// echoVariable makes the test binary a process of its own that accepts every
// Session Establishment Request with as little work as possible, so that the
// client's own cost can be told from the UP function's.
const echoVariable = "N4LOAD_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echoVariable) != "" {
		echo()
		return
	}
	os.Exit(m.Run())
}

// echo answers until standard input ends: the response is the same but for
// sequence number and SEID.
func echo() {
	r := newResponder(&testing.B{})
	_ = r.conn.SetReadBuffer(readBuffer)
	fmt.Println(r.conn.LocalAddr())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		_ = r.conn.Close()
	}()
	node := pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.1")}
	response := &pfcp.SessionEstablishmentResponse{
		NodeID: node, Cause: pfcp.CauseRequestAccepted, UPFSEID: pfcp.Some(pfcp.FSEID{SEID: 1, IPv4: node.Addr}),
		CreatedPDRs: []pfcp.CreatedPDR{{PDRID: uplinkID, LocalFTEIDs: []pfcp.FTEID{{TEID: 1, V4: true, IPv4: node.Addr}}}},
	}
	b, out := make([]byte, maxDatagram), []byte(nil)
	var m pfcp.SessionEstablishmentRequest
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		h, body, _, err := pfcp.Parse(b[:n])
		if err != nil || m.Decode(body) != nil {
			continue
		}
		out, _ = pfcp.Append(out[:0], pfcp.Header{SEID: m.CPFSEID.SEID, Sequence: h.Sequence}, response)
		_, _ = r.conn.WriteToUDPAddrPort(out, from)
	}
}

// startEcho starts echo and returns its address.
func startEcho(b *testing.B) netip.AddrPort {
	b.Helper()
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), echoVariable+"=1")
	stdin, err := run.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := run.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := run.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stdin.Close(); _ = run.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return netip.MustParseAddrPort(strings.TrimSpace(line))
}

// BenchmarkEstablish establishes sessions with another process that does next
// to nothing for them. Its cpu-us/session is this process's user and system
// time, all threads: the reciprocal is what one CPU's worth of client can do.
func BenchmarkEstablish(b *testing.B) {
	for _, window := range []int{32, 256} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			c := dial(b, Config{Remote: startEcho(b), Window: window})
			sessions := template.Sessions(0, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			before := cpuTime(b)
			report, err := c.Establish(b.Context(), &template, sessions)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((cpuTime(b)-before).Seconds()*1e6/float64(b.N), "cpu-us/session")
			b.ReportMetric(report.Rate(), "sessions/s")
		})
	}
}

// cpuTime returns the CPU time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
