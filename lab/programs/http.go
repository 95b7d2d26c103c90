package programs

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// Content is what an HTTP server gives and a client has to get.
type Content struct {
	octets []byte
	sum    [sha256.Size]byte
}

// NewContent returns size octets, always the same.
func NewContent(size int) Content {
	source := rand.NewChaCha8([32]byte{1})
	c := Content{octets: make([]byte, size)}
	_, _ = source.Read(c.octets) // never fails
	c.sum = sha256.Sum256(c.octets)
	return c
}

// ServeHTTP serves c at every path and address of a namespace, TCP port 80,
// and takes uploads, answering with their SHA-256 in hex.
func ServeHTTP(t testing.TB, namespace string, c Content) {
	t.Helper()
	var l net.Listener
	err := nsenter.In(namespace, func() (err error) {
		l, err = net.Listen("tcp", ":80")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(c.answer)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until it is closed
	}()
	t.Cleanup(func() { _ = server.Close(); <-done })
}

func (c Content) answer(w http.ResponseWriter, r *http.Request) {
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
}

// Curl gets c from a server and puts it there, and compares what arrived.
func Curl(t testing.TB, namespace string, from netip.Addr, c Content) {
	t.Helper()
	url := "http://" + netip.AddrPortFrom(from, 80).String() + "/"
	file := filepath.Join(t.TempDir(), "got")
	Output(t, namespace, "curl", "--silent", "--show-error", "--fail", "--max-time", "30", "--output", file, url)
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(got); sum != c.sum {
		t.Errorf("curl %s: %d octets, SHA-256 %x; want %d, %x", url, len(got), sum, len(c.octets), c.sum)
	}
	if err := os.WriteFile(file, c.octets, 0o600); err != nil {
		t.Fatal(err)
	}
	answer := Output(t, namespace, "curl", "--silent", "--show-error", "--fail", "--max-time", "30", "--upload-file", file, url)
	if want := fmt.Sprintf("%x", c.sum); string(answer) != want {
		t.Errorf("curl --upload-file %s: server got SHA-256 %s, want %s", url, answer, want)
	}
}
