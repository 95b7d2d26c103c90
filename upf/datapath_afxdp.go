package upf

import (
	"errors"
	"fmt"

	"plumbline/datapath"
)

// openAFXDP opens the datapath on AF_XDP sockets.
func openAFXDP(o opening) (datapath.Driver, error) {
	return nil, fmt.Errorf("datapath %s: not built yet: %w", DatapathAFXDP, errors.ErrUnsupported)
}
