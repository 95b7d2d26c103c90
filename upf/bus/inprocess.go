package bus

import "github.com/plumbline-upf/plumbline/datapath"

// InProcess is the bus to a datapath in the same process: a function call.
type InProcess struct {
	datapath.Driver
}

var _ Bus = InProcess{}
