package transport

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Networks are the transports of P5: the kernel's TCP; SCTP, of the kernel if available, otherwise
// in this process over IP protocol 132, which needs CAP_NET_RAW; SCTP in UDP (RFC 6951), which
// needs nothing. auto is TCP and, if the kernel has it, SCTP: a listener uses both, and a client
// tries SCTP first.
func Networks() []string { return []string{"auto", "tcp", "sctp", "sctp-udp"} }

// autoTimeout is how long auto waits for an answer over SCTP.
const autoTimeout = 3 * time.Second

func dial(ctx context.Context, c P5Config) (carrier, error) {
	switch c.Network {
	case "", "auto":
		if kernelSCTP() {
			short, cancel := context.WithTimeout(ctx, autoTimeout)
			conn, err := dialKernelSCTP(short, c)
			cancel()
			if err == nil {
				return conn, nil
			}
		}
		return dialTCP(ctx, c)
	case "tcp":
		return dialTCP(ctx, c)
	case "sctp":
		if kernelSCTP() {
			return dialKernelSCTP(ctx, c)
		}
		return dialSCTP(ctx, c, rawWire)
	case "sctp-udp":
		return dialSCTP(ctx, c, udpWire)
	}
	return nil, unknownNetwork(c.Network)
}

func listen(c P5Config) ([]source, error) {
	one := func(s source, err error) ([]source, error) {
		if err != nil {
			return nil, err
		}
		return []source{s}, nil
	}
	switch c.Network {
	case "", "auto":
		return listenAuto(c)
	case "tcp":
		return one(listenTCP(c))
	case "sctp":
		if kernelSCTP() {
			return one(listenKernelSCTP(c))
		}
		return one(listenSCTP(c, rawWire))
	case "sctp-udp":
		return one(listenSCTP(c, udpWire))
	}
	return nil, unknownNetwork(c.Network)
}

// listenAuto listens on TCP and, at the same port, on the kernel's SCTP.
func listenAuto(c P5Config) ([]source, error) {
	first, err := listenTCP(c)
	if err != nil {
		return nil, err
	}
	if !kernelSCTP() {
		return []source{first}, nil
	}
	c.Address = first.addr().String()
	second, err := listenKernelSCTP(c)
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	return []source{first, second}, nil
}

func unknownNetwork(name string) error {
	return fmt.Errorf("no network %q: there are %v", name, Networks())
}
