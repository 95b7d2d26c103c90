package interop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/scratch"
)

const (
	httpTime   = 2 * time.Second  // expected
	httpLimit  = 60 * time.Second // of a download
	fileOctets = 1 << 20
)

// content is what a server gives and a UE has to get.
type content struct {
	octets []byte
	sum    string // SHA-256, in hex
}

func newContent() content {
	c := content{octets: make([]byte, fileOctets)}
	_, _ = rand.NewChaCha8([32]byte{1}).Read(c.octets) // never fails
	c.sum = fmt.Sprintf("%x", sha256.Sum256(c.octets))
	return c
}

// sameVersion reports whether the host of a URL has an address of an IP version; a name
// may have any.
func sameVersion(text string, version int) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err != nil || a.Unmap().Is4() == (version == 4)
}

// ParseURL returns what is wrong with the URL of a file.
func ParseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("interop: URL %q: want http://HOST/FILE", text)
	}
	return nil
}

// serve starts an HTTP server in the data network.
func (b *bed) serve(at netip.Addr) (from string, stop func(), err error) {
	var l net.Listener
	err = b.dn.Do(func() error {
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
		if err == nil {
			l = tcp
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: httpLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(b.content.octets) // what is missing is seen by the UE
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until it is closed
	}()
	return "http://" + l.Addr().String() + "/file", func() { _ = server.Close(); <-done }, nil
}

func (b *bed) http(p path) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) {
		from, want := b.URL, strings.ToLower(b.SHA256)
		if from == "" {
			served, stop, err := b.serve(p.dn)
			if err != nil {
				fail(row, err)
				return
			}
			defer stop()
			from, want = served, b.content.sum
		}
		began := time.Now()
		octets, sum, err := get(ctx, p, from)
		if err != nil {
			fail(row, err)
			return
		}
		row.Transfer = &report.InteropTransfer{Octets: uint64(octets), BPS: float64(octets) * 8 / time.Since(began).Seconds(), SHA256: sum}
		row.Result, row.Seen = report.Pass, fmt.Sprintf("received %d octets, SHA-256 as it should be", octets)
		switch {
		case octets == 0:
			row.Result, row.Seen = report.Fail, "received nothing"
		case want == "":
			row.Seen = fmt.Sprintf("received %d octets, SHA-256 %.8s… not compared", octets, sum)
		case sum != want:
			row.Result, row.Seen = report.Fail, fmt.Sprintf("received %d octets, SHA-256 %.8s…, want %.8s…", octets, sum, want)
		}
	}
}

// get has curl download a file at a UE.
func get(ctx context.Context, p path, from string) (octets int64, sum string, err error) {
	dir, err := scratch.Directory("interop")
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	name := filepath.Join(dir, "file")
	curl, err := apps.StartApart(p.namespace, "curl", "--silent", "--show-error", "--fail", "--noproxy", "*", fmt.Sprintf("--ipv%d", p.version),
		"--connect-timeout", "10", "--max-time", fmt.Sprint(int(httpLimit.Seconds())), "--interface", p.Device, "--output", name, from)
	if err != nil {
		return 0, "", err
	}
	if _, err := curl.Wait(ctx, httpLimit+answerTime); err != nil {
		if said := curl.Said(); said != "" {
			err = errors.New(said)
		}
		return 0, "", err
	}
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) { // of an empty file curl makes none
		return 0, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	h := sha256.New()
	octets, err = io.Copy(h, file)
	return octets, fmt.Sprintf("%x", h.Sum(nil)), err
}
