package p4rt

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// authority signs certificates of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.make(&x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) make(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// files writes a certificate and its key.
func (a *authority) files(name string) (cert, key string) {
	a.t.Helper()
	c, k := a.make(&x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"switch"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.file("CERTIFICATE", c.Raw), a.file("EC PRIVATE KEY", der)
}

func (a *authority) file(kind string, der []byte) string {
	a.t.Helper()
	name := filepath.Join(a.t.TempDir(), "pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return name
}

// TestTLS: without a certificate of the right authority nobody gets in, but for who is in the process.
func TestTLS(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	cert, key := ours.files("switch")
	c, err := ReadTLS(cert, key, ours.file("CERTIFICATE", ours.cert.Raw))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Config{TLS: c})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.Serve(l) }()
	roots := x509.NewCertPool()
	roots.AddCert(ours.cert)
	with := func(a *authority) credentials.TransportCredentials {
		config := &tls.Config{RootCAs: roots, ServerName: "switch"}
		if a != nil {
			pair, err := tls.LoadX509KeyPair(a.files("controller"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		return credentials.NewTLS(config)
	}
	for _, tc := range []struct {
		name string
		by   credentials.TransportCredentials
		want codes.Code
	}{
		{"ours", with(ours), codes.OK}, {"of others", with(others), codes.Unavailable}, {"none", with(nil), codes.Unavailable}, {"no TLS", insecure.NewCredentials(), codes.Unavailable},
	} {
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(tc.by))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p4.NewP4RuntimeClient(conn).Capabilities(t.Context(), &p4.CapabilitiesRequest{})
		conn.Close()
		if codeOf(err) != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, err := r.client.Capabilities(t.Context(), &p4.CapabilitiesRequest{}); err != nil {
		t.Errorf("within the process: %v", err)
	}
	if _, err := ReadTLS(cert, "", ""); err == nil {
		t.Error("a certificate without a key is taken")
	}
}

// TestTooLong: messages and programs that are too long are refused.
func TestTooLong(t *testing.T) {
	r := newRig(t, Config{MaxMessage: 1 << 16, MaxProgram: 1000})
	c := r.open(t)
	c.send(`arbitration { device_id: 1 election_id { low: 1 } }`)
	c.next()
	config := fakeConfig(t)
	config.P4DeviceConfig = bytes.Repeat([]byte{' '}, 1001)
	if err := r.set(t, verify, config); codeOf(err) != codes.InvalidArgument {
		t.Errorf("got %v, want %v", err, codes.InvalidArgument)
	}
	config.P4DeviceConfig = bytes.Repeat([]byte{' '}, 1<<16)
	if err := r.set(t, verify, config); codeOf(err) != codes.ResourceExhausted {
		t.Errorf("got %v, want %v", err, codes.ResourceExhausted)
	}
	c.send(`packet { payload: "` + string(bytes.Repeat([]byte{'x'}, 1<<16)) + `" }`)
	c.wantEnd(codes.ResourceExhausted)
}
