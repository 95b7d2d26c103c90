package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/upf/privilege"
)

// openAFXDP opens the datapath on AF_XDP sockets, after it has seen that this process
// may.
func openAFXDP(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathAFXDP); err != nil {
		return nil, err
	}
	d, err := afxdp.New(afxdpConfig(o))
	if err == nil && o.paused {
		err = checkLocked(DatapathAFXDP, d)
	}
	if err != nil {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
		return nil, explainAFXDP(o.Config, err)
	}
	return d, nil
}

// checkLocked fails if a datapath would lock more memory than this process may. The kernel says
// so only when it takes packets: in a move, when the datapath before has left its devices.
func checkLocked(name string, d datapath.MemoryLocker) error {
	want, err := d.LockedOctets()
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	lacks, err := privilege.Lacks(map[string]int{"CAP_IPC_LOCK": unix.CAP_IPC_LOCK})
	if err != nil || len(lacks) == 0 || want <= limit.Cur {
		return err
	}
	return fmt.Errorf("%s: frames of %d octets are more than this process may lock, %d (CAP_IPC_LOCK, LimitMEMLOCK=, or fewer afxdp.frames): %w",
		name, want, limit.Cur, unix.ENOBUFS)
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
