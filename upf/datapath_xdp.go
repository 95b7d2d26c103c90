package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/datapath/xdp"
	"plumbline/gtpu"
)

// openXDP attaches the XDP datapath, after it has seen that this process may.
func openXDP(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathXDP); err != nil {
		return nil, err
	}
	c := o.Config
	d, err := xdp.New(xdp.Config{
		Endpoints: endpoints(c), N6: dataNetworks(c),
		Mode: xdp.Mode(c.XDP.Mode), MaxSessions: c.Sessions.Max, MaxListedPDRs: c.XDP.MaxListedPDRs,
		Pin: c.XDP.Pin, Spread: c.XDP.Spread, EchoInterval: time.Duration(c.N3.EchoInterval),
		Advertise: c.RouterAdvertisement.advertise(), Buffer: c.Buffer.limits(), MeterBurst: time.Duration(c.MeterBurst), Log: o.log,
		Paused: o.paused,
	})
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, unix.EADDRINUSE):
		return nil, explainListen("n3.address", netip.AddrPortFrom(c.N3.Address, gtpu.Port), unix.EADDRINUSE)
	}
	return nil, fmt.Errorf("datapath %w", err)
}
