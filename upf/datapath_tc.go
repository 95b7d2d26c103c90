package upf

import (
	"errors"
	"fmt"

	"plumbline/datapath"
)

// openTC attaches the datapath on socket buffers.
func openTC(o opening) (datapath.Driver, error) {
	return nil, fmt.Errorf("datapath %s: not built yet: %w", DatapathTC, errors.ErrUnsupported)
}
