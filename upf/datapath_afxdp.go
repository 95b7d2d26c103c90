package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/datapath/afxdp"
	"plumbline/gtpu"
)

// openAFXDP opens the datapath on AF_XDP sockets, after it has seen that this process
// may.
func openAFXDP(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathAFXDP); err != nil {
		return nil, err
	}
	d, err := afxdp.New(afxdpConfig(o))
	if err != nil {
		return nil, explainAFXDP(o.Config, err)
	}
	return d, nil
}

// explainAFXDP says what is to be done about an error of the AF_XDP datapath.
func explainAFXDP(c *Config, err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return explainListen("n3.address", netip.AddrPortFrom(c.N3.Address, gtpu.Port), unix.EADDRINUSE)
	}
	return fmt.Errorf("datapath %w", err)
}

// afxdpConfig is that of the AF_XDP datapath.
func afxdpConfig(o opening) afxdp.Config {
	c := o.Config
	return afxdp.Config{
		Endpoints: endpoints(c), N6: dataNetworks(c), MaxSessions: c.Sessions.Max,
		Mode: afxdp.Mode(c.AFXDP.Mode), Queues: c.AFXDP.Queues, CPUs: c.AFXDP.CPUs, Frames: c.AFXDP.Frames, Copy: !c.AFXDP.ZeroCopy,
		EchoInterval: time.Duration(c.N3.EchoInterval), Advertise: c.RouterAdvertisement.advertise(),
		Buffer: c.Buffer.limits(), MeterBurst: time.Duration(c.MeterBurst), Log: o.log,
		Paused: o.paused, Quiet: o.quiet,
	}
}
