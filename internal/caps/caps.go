// Package caps says which capabilities are in effect.
//
// Source: capabilities(7), capget(2).
package caps

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Set is a set of capabilities: bit unix.CAP_NET_ADMIN is that capability.
type Set uint64

// Has says whether a capability, as unix.CAP_NET_ADMIN, is in the set.
func (s Set) Has(capability int) bool { return s&(1<<capability) != 0 }

// Effective returns the capabilities that the calling thread has in effect.
func Effective() (Set, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return 0, fmt.Errorf("capabilities: %w", err)
	}
	return Set(have[1].Effective)<<32 | Set(have[0].Effective), nil
}
