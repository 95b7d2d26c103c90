package redisconn

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTLS: who is not certified is not spoken to. A TLS end before a plain
// server shows it, so the server need not be built with TLS.
func TestTLS(t *testing.T) {
	certificate, ca := certify(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go pong(l)
	for _, tc := range []struct {
		name string
		ca   string
		ok   bool
	}{{"its authority is known", ca, true}, {"it is not", "", false}} {
		c, err := Open(Config{Address: l.Addr().String(), TLS: true, CAFile: tc.ca})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Do(t.Context(), "PING").Err()
		var unknown x509.UnknownAuthorityError
		if (err == nil) != tc.ok || !tc.ok && !errors.As(err, &unknown) {
			t.Errorf("%s: %v", tc.name, err)
		}
		c.Close()
	}
}

// pong answers PONG to whatever it is asked, but for what old servers do not know.
func pong(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for commands := bufio.NewScanner(c); commands.Scan(); {
				answer := ""
				switch strings.ToLower(commands.Text()) {
				case "hello", "client":
					answer = "-ERR unknown command\r\n"
				case "ping":
					answer = "+PONG\r\n"
				}
				if _, err := io.WriteString(c, answer); err != nil {
					return
				}
			}
		}()
	}
}

// certify makes a certificate for 127.0.0.1 that certifies itself, and a file of it.
func certify(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// TestOpenRefuses what it cannot use.
func TestOpenRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{
		{Address: "127.0.0.1:1", PasswordFile: empty},
		{Address: "127.0.0.1:1", PasswordFile: empty + "-not-there"},
		{Address: "127.0.0.1:1", TLS: true, CAFile: empty},
		{Address: "no-port", TLS: true},
	} {
		if client, err := Open(c); err == nil {
			client.Close()
			t.Errorf("%+v: want an error", c)
		}
	}
}

// TestDeadline: a command ends when its context does, although the server does
// not answer.
func TestDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Open(Config{Address: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := c.Ping(ctx).Err(); err == nil || time.Since(begin) > commandTimeout {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
