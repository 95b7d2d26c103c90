package upf

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/tc"
)

// openTC attaches the datapath on socket buffers. What it shares with XDP it has from
// the configuration of that.
func openTC(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathTC); err != nil {
		return nil, err
	}
	cfg := programs(o)
	cfg.SuperPackets = o.TC.SuperPackets
	d, err := tc.New(cfg)
	if err != nil {
		return nil, explainPrograms(o.Config, err)
	}
	return d, nil
}
