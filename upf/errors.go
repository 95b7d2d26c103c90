package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/upf/privilege"
)

// Errors with which a UPF does not start. Each is wrapped in one line that
// names the configuration key and says what to do.
var (
	ErrInUse      = errors.New("in use")
	ErrNoDevice   = errors.New("no such network device")
	ErrNoAddress  = errors.New("no such address on this machine")
	ErrCapability = errors.New("capability missing")
)

// checkCapabilities refuses to start without what the datapath of that name
// needs, if it loads programs.
func checkCapabilities(name string) error {
	missing, err := privilege.Missing()
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("datapath %s: %w: %s: run as root or with these capabilities",
			name, ErrCapability, strings.Join(missing, ", "))
	}
	return nil
}

// explainListen says in terms of the configuration why nothing can listen at
// addr, the value of key.
func explainListen(key string, addr netip.AddrPort, err error) error {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%s: %s: %w: another process listens there (see ss -lnp); stop it or choose another address",
			key, addr, ErrInUse)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s: %w: add it to a device (ip address add) or correct the configuration",
			key, addr.Addr(), ErrNoAddress)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s: %s: %w: choose a port of 1024 or more, or grant CAP_NET_BIND_SERVICE", key, addr, ErrCapability)
	default:
		return fmt.Errorf("%s: %s: %w", key, addr, err)
	}
}
