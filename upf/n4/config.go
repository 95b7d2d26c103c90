package n4

import (
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Config is what an [Endpoint] has to know. Zero values mean the defaults.
type Config struct {
	// Listen is the local address and port. The address is also that of our
	// F-SEIDs, so it has to be a certain one. Port 0 means any, for tests.
	Listen netip.AddrPort
	NodeID string         // an address or an FQDN; default: the address of Listen
	Peers  []netip.Prefix // who may send us anything; empty: anybody
	// Forms say what CP functions are not sent, as they cannot read it.
	Forms []PeerForm

	// Associate are CP functions with which this UP function sets up the
	// association. They are peers even if Peers does not name them.
	Associate []netip.Addr
	// Release: Stop asks the CP functions to release their associations, and
	// waits for that as long as GracefulRelease says.
	Release         bool
	GracefulRelease time.Duration // default 10 s; sent in units of 2 s or more

	// Capabilities is what the datapath can do. It decides which features are
	// advertised; those in Hide are not, whatever it can do.
	Capabilities Capabilities
	Hide         pfcp.UPFunctionFeatures

	// Pools is what CP functions are told of the pools of UE addresses.
	Pools []pfcp.UEIPAddressPool

	HeartbeatInterval time.Duration // default 30 s
	T1                time.Duration // how long a response is waited for; default 3 s
	N1                int           // how often a request is sent in all; default 3
	PeerPort          uint16        // where our requests go; default 8805

	MaxAssociations           int // default 1024
	MaxAssociationsPerAddress int // default 16
	MaxSessionsPerAssociation int // default: no limit but that of the session manager
	MaxSessions               int // that of the session manager, for the load; default: not known
	RequestsPerSecond         int // of one address; default: no limit
	ReportsPerSecond          int // Session Report Requests to one CP function; default: no limit
	MaxApplications           int // with PFDs; default 4096
	MaxPFDOctets              int // of all PFDs, 64 for each beside its text; default 16 MiB
	MaxPFDOctetsPerPeer       int // of those that one CP function provisioned; default 4 MiB

	// BusyPoll is how long after the last datagram sockets are asked for more
	// before their readers sleep; default: not at all.
	BusyPoll    time.Duration
	Sockets     int // default: one per CPU, at most 8
	CacheOctets int // for responses to repeated requests; default 32 MiB
	// Handlers is how many goroutines answer requests. 0: those that read the
	// sockets, which is best if the datapath answers at once. With a datapath
	// that is asked over a network there should be many. QueueOctets bounds
	// the requests that wait for them; default 64 MiB.
	Handlers    int
	QueueOctets int

	// Events is what the datapath tells of sessions; nil: nothing.
	Events session.Source
	// Restoring is called before sessions are deleted that their CP function counts on
	// and will establish again: it had given us up; nil: nothing.
	Restoring func()
	// Store keeps associations, PFDs and the Recovery Time Stamp; nil: they end
	// with the process.
	Store Store
	// RecoveryTime is when sessions were last lost, if there is no Store or it
	// does not say; default: now.
	RecoveryTime time.Time
	Log          *slog.Logger // default: slog.Default()
}

// withDefaults fills in what is zero, and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if a := c.Listen.Addr(); !a.IsValid() || a.IsUnspecified() {
		return c, fmt.Errorf("n4: listen address %v: a certain address is needed", c.Listen)
	}
	or := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&c.MaxAssociations, 1024)
	or(&c.MaxAssociationsPerAddress, 16)
	or(&c.MaxApplications, 4096)
	or(&c.MaxPFDOctets, 16<<20)
	or(&c.MaxPFDOctetsPerPeer, 4<<20)
	or(&c.N1, 3)
	or(&c.Sockets, min(runtime.GOMAXPROCS(0), 8))
	or(&c.CacheOctets, 32<<20)
	or(&c.QueueOctets, 64<<20)
	orTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	orTime(&c.HeartbeatInterval, 30*time.Second)
	orTime(&c.T1, 3*time.Second)
	orTime(&c.GracefulRelease, 10*time.Second)
	if c.PeerPort == 0 {
		c.PeerPort = pfcp.Port
	}
	if c.NodeID == "" {
		c.NodeID = c.Listen.Addr().Unmap().String()
	}
	if c.RecoveryTime.IsZero() {
		c.RecoveryTime = time.Now()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, nil
}
