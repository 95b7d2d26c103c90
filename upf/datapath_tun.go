package upf

import (
	"errors"
	"fmt"

	"plumbline/datapath"
)

// openTUN opens the datapath on UDP sockets and a TUN or TAP device.
func openTUN(o opening) (datapath.Driver, error) {
	return nil, fmt.Errorf("datapath %s: not built yet: %w", o.Datapath, errors.ErrUnsupported)
}
