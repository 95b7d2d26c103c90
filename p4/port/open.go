package port

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
)

// Config says how a device becomes a port.
type Config struct {
	Device  string
	Kind    Kind // "": [Auto]
	Workers int  // receivers
	// Memory is what each receiver shares with the kernel, in octets; 0: 8 MiB.
	Memory int
	// Headroom is how many octets a frame has free in front, at least; 0: 128. AF_XDP gives 256 and no more.
	Headroom int
	Log      *slog.Logger // nil: none
}

const (
	defaultMemory   = 8 << 20
	defaultHeadroom = 128
)

// Open makes a port of a device in the network namespace of the caller. The device becomes promiscuous until the port is
// closed.
//
// Errors: [os.ErrPermission] without the capabilities that it takes; [errors.ErrUnsupported] for what this kernel or device
// cannot do.
func Open(c Config) (Port, error) {
	link, err := net.InterfaceByName(c.Device)
	if err != nil {
		return nil, fmt.Errorf("port %s: %w", c.Device, err)
	}
	if len(link.HardwareAddr) != 6 && link.Flags&net.FlagLoopback == 0 {
		return nil, fmt.Errorf("port %s: it is no Ethernet device: %w", c.Device, errors.ErrUnsupported)
	}
	if c.Memory <= 0 {
		c.Memory = defaultMemory
	}
	if c.Headroom <= 0 {
		c.Headroom = defaultHeadroom
	}
	c.Workers = max(c.Workers, 1)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch c.Kind {
	case Packet:
		return openPacket(c, link)
	case AFXDP:
		p, _, err := openXDP(c, link, false)
		return p, err
	case Auto, "":
		return openAny(c, link)
	}
	return nil, fmt.Errorf("port %s: kind %q: want %s, %s or %s", c.Device, c.Kind, Auto, AFXDP, Packet)
}

// openAny makes a port of the kind that is the better one.
func openAny(c Config, link *net.Interface) (Port, error) {
	p, why, err := openXDP(c, link, true)
	if err == nil && p != nil {
		return p, nil
	}
	if err != nil {
		why = err.Error()
	}
	c.Log.Info("port is of packet sockets", "device", c.Device, "reason", why)
	return openPacket(c, link)
}
