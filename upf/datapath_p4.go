package upf

import (
	"plumbline/datapath"
	"plumbline/datapath/p4"
)

// openP4 opens the datapath on a P4 target, whose ports are AF_XDP sockets.
func openP4(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathP4); err != nil {
		return nil, err
	}
	d, err := p4.New(p4.Config{Config: afxdpConfig(o)})
	if err != nil {
		return nil, explainAFXDP(o.Config, err)
	}
	return d, nil
}
