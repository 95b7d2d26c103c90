package upf

import (
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// openModel opens the model, which has no devices.
func openModel(o opening) (datapath.Driver, error) {
	o.log.Warn("datapath model carries no packets: it opens no device")
	start := time.Now()
	return stages.New(stages.Config{
		Endpoints:   endpoints(o.Config),
		N6:          dataNetworks(o.Config),
		MaxSessions: uint64(o.Sessions.Max),
		Now:         func() uint64 { return uint64(time.Since(start)) },
		Advertise:   o.RouterAdvertisement.advertise(),
		Buffer:      o.Buffer.limits(),
		MeterBurst:  time.Duration(o.MeterBurst),
		Paused:      o.paused,
		Quiet:       o.quiet,
	}), nil
}
