// Package redisconn opens connections to the Redis or Valkey server that store
// and bus may use, each with the same options.
package redisconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says where the server is and who we are.
type Config struct {
	Address      string // HOST:PORT, or the absolute path of a Unix socket
	Username     string // empty: the server's default user
	PasswordFile string // its first line is the password; empty: none
	TLS          bool   // over TCP
	CAFile       string // PEM certificates that sign the server's; empty: the machine's
	Connections  int    // that may be open at once; 0: 10 for each CPU
}

// Timeouts of one command; a connection that exceeds them is given up and
// another one made.
const (
	dialTimeout    = 2 * time.Second
	commandTimeout = 3 * time.Second
)

// quiet keeps the client library from writing to stderr: what it would say, its
// callers get as errors.
type quiet struct{}

// Printf does nothing.
func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }

// Open returns a client that connects when it is used, and again whenever the
// connection is lost. The context of a command limits it.
func Open(c Config) (*redis.Client, error) {
	o := &redis.Options{
		Addr: c.Address, Username: c.Username,
		DialTimeout: dialTimeout, ReadTimeout: commandTimeout, WriteTimeout: commandTimeout,
		ContextTimeoutEnabled: true,
		// Callers repeat what they can repeat, and know in what order.
		MaxRetries: -1, DialerRetries: 1, PoolSize: c.Connections,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if filepath.IsAbs(c.Address) {
		o.Network = "unix"
	}
	var err error
	if o.Password, err = password(c.PasswordFile); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if c.TLS {
		if o.TLSConfig, err = tlsConfig(c); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
	}
	boundReplies(o)
	return redis.NewClient(o), nil
}

// password is the first line of the file.
func password(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
		return "", fmt.Errorf("password: the first line of %s is empty", file)
	}
	return string(line), nil
}

func tlsConfig(c Config) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if c.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TLS: %s: %w", c.CAFile, errNoCertificate)
	}
	return t, nil
}

var errNoCertificate = errors.New("no certificate in it")
