package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// openXDP attaches the XDP datapath, after it has seen that this process may.
func openXDP(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathXDP); err != nil {
		return nil, err
	}
	cfg := programs(o)
	cfg.Mode, cfg.Spread = xdp.Mode(o.XDP.Mode), o.XDP.Spread
	d, err := xdp.New(cfg)
	if err != nil {
		return nil, explainPrograms(o.Config, err)
	}
	return d, nil
}

// programs is what the datapaths that are programs in the kernel have in common.
func programs(o opening) xdp.Config {
	c := o.Config
	return xdp.Config{
		Endpoints: endpoints(c), N6: dataNetworks(c), MaxSessions: c.Sessions.Max, MaxListedPDRs: c.XDP.MaxListedPDRs,
		Pin: c.XDP.Pin, EchoInterval: time.Duration(c.N3.EchoInterval),
		Advertise: c.RouterAdvertisement.advertise(), Buffer: c.Buffer.limits(), MeterBurst: time.Duration(c.MeterBurst), Log: o.log,
		Paused: o.paused, Quiet: o.quiet,
	}
}

// explainPrograms says why they were not attached.
func explainPrograms(c *Config, err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return explainListen("n3.address", netip.AddrPortFrom(c.N3.Address, gtpu.Port), unix.EADDRINUSE)
	}
	return fmt.Errorf("datapath %w", err)
}
