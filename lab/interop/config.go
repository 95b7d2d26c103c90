package interop

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

// UE is where the device of a UE is.
type UE struct {
	Namespace string // as in `ip netns`; empty: that of this process
	Device    string
}

// maxDevice is the longest name of a device (IFNAMSIZ less its 0).
const maxDevice = 15

// UnmarshalText takes DEVICE or NAMESPACE:DEVICE.
func (u *UE) UnmarshalText(text []byte) error {
	namespace, device, found := strings.Cut(string(text), ":")
	if !found {
		namespace, device = "", namespace
	}
	if device == "" || len(device) > maxDevice || found && namespace == "" || strings.ContainsAny(string(text), "/ ") {
		return fmt.Errorf("UE %q: want DEVICE or NAMESPACE:DEVICE", text)
	}
	*u = UE{namespace, device}
	return nil
}

// Part is a group of steps.
type Part string

// The parts that need no command, in the order in which they are tried.
const (
	Ping   Part = "ping"
	MTU    Part = "mtu"
	TCP    Part = "tcp"
	UDP    Part = "udp"
	HTTP   Part = "http"
	AMBR   Part = "ambr"
	UEToUE Part = "ue-to-ue"
)

// Parts lists them.
var Parts = []Part{Ping, MTU, TCP, UDP, HTTP, AMBR, UEToUE}

// Change is what a command makes the core do.
type Change string

// The changes, in the order in which they are tried: those that may cost the sessions last.
const (
	Flow       Change = "flow"
	Handover   Change = "handover"
	Idle       Change = "idle"
	UPFRestart Change = "UPF restart"
	SMFRestart Change = "SMF restart"
	Release    Change = "release"
)

// Changes lists them.
var Changes = []Change{Flow, Handover, Idle, UPFRestart, SMFRestart, Release}

// Policy is what is right between two UEs.
type Policy string

// The policies.
const (
	Tell  Policy = "" // neither
	Allow Policy = "allow"
	Deny  Policy = "deny"
)

// Config says where everything is, and what to try.
type Config struct {
	UEs     []UE
	DN, DN6 netip.Addr // of the data network; either may be unset
	// Servers says that the data network is a namespace, in which servers can be started
	// and from which UEs can be reached: DNNamespace; empty: that of this process.
	Servers     bool
	DNNamespace string
	IperfPort   uint16 // of an iperf3 server that runs at DN; 0: none does
	URL, SHA256 string // of a file that a server gives; and its hash in hex, which may be empty

	Skip                     []Part
	UplinkAMBR, DownlinkAMBR uint64 // bit/s; 0: not known
	UEToUE                   Policy
	Commands                 map[Change]string // for /bin/sh
	Settle, CommandTime      time.Duration     // after a command, and for it
	Gap                      time.Duration     // longest that a change may take; 0: it may lose nothing
	UPF                      *upf.Client       // of plumb upf; nil: not queried
	Host                     report.Host
	OnStep                   func(report.Step) // is called at the start of each step; may be nil
}

// Bounds of what [Config] may say.
const (
	MaxUEs         = 64
	MaxSettle      = 10 * time.Minute
	MinCommandTime = time.Second
	MaxCommandTime = 10 * time.Minute
	minAMBR        = 100_000
)

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	switch {
	case len(c.UEs) == 0 || len(c.UEs) > MaxUEs:
		return fmt.Errorf("interop: %d UEs: want 1 to %d", len(c.UEs), MaxUEs)
	case !c.DN.IsValid() && !c.DN6.IsValid():
		return fmt.Errorf("interop: no address of the data network")
	case c.DN.IsValid() && !c.DN.Is4():
		return fmt.Errorf("interop: data network %v: want IPv4", c.DN)
	case c.DN6.IsValid() && (!c.DN6.Is6() || c.DN6.Is4In6() || c.DN6.Zone() != ""):
		return fmt.Errorf("interop: data network %v: want IPv6", c.DN6)
	case c.Settle < 0 || c.Settle > MaxSettle:
		return fmt.Errorf("interop: settle time %v: want 0 to %v", c.Settle, MaxSettle)
	case c.CommandTime < MinCommandTime || c.CommandTime > MaxCommandTime:
		return fmt.Errorf("interop: time of a command %v: want %v to %v", c.CommandTime, MinCommandTime, MaxCommandTime)
	case c.Gap < 0:
		return fmt.Errorf("interop: gap %v: want 0 or more", c.Gap)
	case c.SHA256 != "" && c.URL == "":
		return fmt.Errorf("interop: a hash without the URL of a file")
	}
	for i, u := range c.UEs {
		if slices.Contains(c.UEs[:i], u) {
			return fmt.Errorf("interop: UE %s is named twice", u.Device)
		}
	}
	for _, p := range c.Skip {
		if !slices.Contains(Parts, p) {
			return fmt.Errorf("interop: part %q: want some of %v", p, Parts)
		}
	}
	for _, ambr := range []uint64{c.UplinkAMBR, c.DownlinkAMBR} {
		if ambr != 0 && ambr < minAMBR {
			return fmt.Errorf("interop: AMBR of %d bit/s: want %d or more", ambr, minAMBR)
		}
	}
	return nil
}

// Programs are the programs that the steps need.
func (c *Config) Programs() []string {
	var list []string
	wants := func(p Part) bool { return !slices.Contains(c.Skip, p) }
	if (c.Servers || c.IperfPort != 0) && (wants(TCP) || wants(UDP) || wants(AMBR) && c.UplinkAMBR+c.DownlinkAMBR > 0) {
		list = append(list, "iperf3")
	}
	if (c.Servers || c.URL != "") && wants(HTTP) {
		list = append(list, "curl")
	}
	return list
}
