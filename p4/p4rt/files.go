package p4rt

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Pipeline is a program with its P4Info.
type Pipeline = p4.ForwardingPipelineConfig

// ReadPipeline reads a program's JSON, and its P4Info if there is a file of it, as text or binary; nil without a program.
// Without P4Info, controllers reach nothing of the program.
func ReadPipeline(program, p4info string) (*Pipeline, error) {
	if program == "" {
		return nil, nil
	}
	json, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{P4DeviceConfig: json, P4Info: &info.P4Info{}}
	if p4info == "" {
		return p, nil
	}
	b, err := os.ReadFile(p4info)
	if err != nil {
		return nil, err
	}
	if textErr := prototext.Unmarshal(b, p.P4Info); textErr != nil {
		if err := proto.Unmarshal(b, p.P4Info); err != nil {
			return nil, fmt.Errorf("%s: it is no P4Info, neither as text (%w) nor binary (%w)", p4info, textErr, err)
		}
	}
	return p, nil
}

// Check checks P4Info against a program, as a pipeline that a controller brings is.
func Check(p *info.P4Info, program Program) error {
	_, err := newPipeline(p, program)
	return err
}

// ReadClientTLS is for a controller: the server's name and CA certificates (none: the machine's),
// and the controller's own certificate.
func ReadClientTLS(server, ca, certificate, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: server}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: there is no certificate in it", ca)
		}
	}
	if certificate == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// ReadTLS reads a certificate with its key, and the CA certificates for controllers; nil without any file.
func ReadTLS(certificate, key, clientCA string) (*tls.Config, error) {
	switch {
	case certificate == "" && key == "" && clientCA == "":
		return nil, nil
	case certificate == "" || key == "":
		return nil, errors.New("want a certificate and its key")
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: there is no certificate in it", clientCA)
	}
	return c, nil
}
