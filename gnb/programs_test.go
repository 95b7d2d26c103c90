package gnb_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// ping sends echo requests with a payload of size octets in a namespace, until
// five were answered. (Without a deadline ping waits for the last answer no
// longer than twice the longest round trip so far: too short on a busy machine.)
// ping itself compares payloads.
func ping(t *testing.T, namespace string, to netip.Addr, size int) {
	t.Helper()
	const answers, deadlineS = 5, 20
	out := output(t, namespace, "ping", "-n", "-i", "0.05", "-c", strconv.Itoa(answers), "-w", strconv.Itoa(deadlineS),
		"-s", strconv.Itoa(size), to.String())
	m := regexp.MustCompile(`packets transmitted, (\d+) received`).FindSubmatch(out)
	if m == nil || string(m[1]) != strconv.Itoa(answers) || bytes.Contains(out, []byte("wrong data")) {
		t.Errorf("ping %v in %s:\n%s", to, namespace, out)
	}
}

// content is what an HTTP server gives and a client has to get.
type content struct {
	octets []byte
	sum    [sha256.Size]byte
}

func newContent(size int) content {
	source := rand.NewChaCha8([32]byte{1})
	c := content{octets: make([]byte, size)}
	_, _ = source.Read(c.octets) // never fails
	c.sum = sha256.Sum256(c.octets)
	return c
}

// serveHTTP serves c at every path and address of a namespace, TCP port 80,
// and takes uploads, answering with their SHA-256 in hex.
func serveHTTP(t *testing.T, namespace string, c content) {
	t.Helper()
	var l net.Listener
	err := within(namespace, func() (err error) {
		l, err = net.Listen("tcp", ":80")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write(c.octets)
			return
		}
		h := sha256.New()
		if _, err := io.Copy(h, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "%x", h.Sum(nil))
	})}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
}

// curl gets c from a server and puts it there, and compares what arrived.
func curl(t *testing.T, namespace string, from netip.Addr, c content) {
	t.Helper()
	url := "http://" + netip.AddrPortFrom(from, 80).String() + "/"
	file := filepath.Join(t.TempDir(), "got")
	output(t, namespace, "curl", "--silent", "--show-error", "--fail", "--max-time", "30", "--output", file, url)
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(got); sum != c.sum {
		t.Errorf("curl %s: %d octets, SHA-256 %x; want %d, %x", url, len(got), sum, len(c.octets), c.sum)
	}
	answer := output(t, namespace, "curl", "--silent", "--show-error", "--fail", "--max-time", "30",
		"--upload-file", file, url)
	if want := fmt.Sprintf("%x", c.sum); string(answer) != want {
		t.Errorf("curl --upload-file %s: server got SHA-256 %s, want %s", url, answer, want)
	}
}

// iperfReport is what matters of iperf3 --json.
type iperfReport struct {
	Error string `json:"error"`
	End   struct {
		SumSent     iperfSum `json:"sum_sent"`
		SumReceived iperfSum `json:"sum_received"`
	} `json:"end"`
}

type iperfSum struct {
	Octets        uint64  `json:"bytes"`
	BitsPerSecond float64 `json:"bits_per_second"`
	Packets       int     `json:"packets"`
	LostPackets   int     `json:"lost_packets"`
}

// iperf runs iperf3, client in one namespace and server in another. It fails
// unless the receiving end got something and not more than was sent.
func iperf(t *testing.T, client, server string, address netip.Addr, flags ...string) {
	t.Helper()
	ended := serve(t, server, "Server listening", "iperf3", "--server", "--one-off", "--forceflush")
	args := append([]string{"iperf3", "--json", "--client", address.String()}, flags...)
	out := output(t, client, args...)
	var r iperfReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	sent, received := r.End.SumSent, r.End.SumReceived
	if r.Error != "" || received.Octets == 0 || received.Octets > sent.Octets {
		t.Errorf("%v: error %q, %d octets sent, %d received", args, r.Error, sent.Octets, received.Octets)
	}
	if received.Packets != 0 && received.LostPackets >= received.Packets {
		t.Errorf("%v: lost %d of %d packets", args, received.LostPackets, received.Packets)
	}
	t.Logf("%v: %.0f Mbit/s", args[2:], received.BitsPerSecond/1e6)
	<-ended // the next server needs its port
}
