package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/caps"
	"github.com/plumbline-upf/plumbline/internal/netdev"
	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// Datapath says whether a datapath of the UPF can run here.
type Datapath struct {
	Name string `json:"name"` // "xdp", "tc", "afxdp", "tun", "tap" or "p4"
	Runs bool   `json:"runs"`
	// Found is how it runs, or why it does not.
	Found string `json:"found"`
	// Advice is what to do so that it runs, or runs better; empty: nothing.
	Advice string `json:"advice,omitempty"`
	// Rank is its place among those that run here, the best one being 1; 0: it does
	// not run.
	Rank int `json:"rank"`
}

// Ranks before they are counted off: what costs a packet least comes first. The
// user-space datapaths come behind those in the kernel; tap, which carries Ethernet
// headers that IP sessions have no use for, comes last.
const (
	rankNative = iota + 1
	rankTC
	rankGeneric
	rankAFXDP
	rankTUN
	rankTAP
	rankP4
)

// facts is what decides which datapaths run.
type facts struct {
	missing       []string // capabilities that programs need
	netAdmin      bool
	xdp, cls, xsk error // nil: the kernel has it
	tcx           error
	tun           error
	still         bool // the kernel forwards no IPv4 packets
	devices       []device
	absent        []string         // devices that were named and are not there
	ours          bool             // XDP programs on the devices are the UPF's own
	running       string           // the datapath with which the UPF of these devices runs; empty: it does not
	refused       map[string]error // of programs that were loaded, by datapath
	own           []string         // names of programs of datapaths, as the kernel has them
}

// noDevice reports whether nothing is wrong but that no device was named, and none is up.
func (f *facts) noDevice() bool {
	return len(f.missing)+len(f.absent)+len(f.devices) == 0 && f.cls == nil && f.refused["tc"] == nil
}

// Datapaths looks at this machine and the network namespace of the calling thread,
// for a UPF on the devices with these names; none: on any that is up. It changes
// nothing and needs no privilege: what it may not look at counts as absent. ours says
// that XDP programs which the devices have are the UPF's own. The best one comes
// first, then the others that run, then those that do not.
func Datapaths(names []string, ours bool) []Datapath { return judge(gather(names, ours)) }

// gather looks.
func gather(names []string, ours bool) *facts {
	f := &facts{ours: ours}
	for _, c := range capabilityChecks(caps.Effective()) {
		has := c.Status == OK
		if c.Required && !has {
			f.missing = append(f.missing, c.Name)
		}
		f.netAdmin = f.netAdmin || has && c.Name == "CAP_NET_ADMIN"
	}
	f.xdp = errors.Join(features.HaveProgramType(ebpf.XDP), features.HaveMapFlag(features.BPF_F_MMAPABLE), features.HaveMapType(ebpf.RingBuf))
	f.cls = features.HaveProgramType(ebpf.SchedCLS)
	f.xsk = errors.Join(features.HaveMapType(ebpf.XSKMap), trySocket(unix.AF_XDP, unix.SOCK_RAW, 0))
	f.tcx = haveTCX(verifier.KernelRelease())
	f.tun, f.still = openTUN(), readFile("/proc/sys/net/ipv4/ip_forward") != "1"
	f.devices, f.absent = named(names)
	return f
}

// haveTCX reports by its version whether the kernel has tcx.
func haveTCX(release string) error {
	if !releaseAtLeast(release, 6, 6) {
		return fmt.Errorf("Linux %s has no tcx", release)
	}
	return nil
}

// openTUN opens the device of which TUN and TAP devices are made, and makes none.
func openTUN() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	return unix.Close(fd)
}

// named returns the devices with these names, or all that are up, and which names
// there are no devices of.
func named(names []string) (found []device, absent []string) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, names
	}
	tool, err := ethtool.NewEthtool()
	if err == nil {
		defer tool.Close()
	} else {
		tool = nil
	}
	for _, l := range links {
		attrs := l.Attrs()
		any := len(names) == 0 && attrs.OperState == netlink.OperUp && attrs.Flags&net.FlagLoopback == 0
		if any || slices.Contains(names, attrs.Name) {
			found = append(found, readDevice(l, tool))
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(d device) bool { return d.name == name }) && !slices.Contains(absent, name) {
			absent = append(absent, name)
		}
	}
	return found, absent
}

// judge says which datapaths run, the best first.
func judge(f *facts) []Datapath {
	all := []Datapath{f.judgeXDP(), f.judgeTC(), f.judgeAFXDP(), f.judgeTUN("tun", rankTUN), f.judgeTUN("tap", rankTAP), f.judgeP4()}
	slices.SortStableFunc(all, func(a, b Datapath) int {
		if a.Runs != b.Runs {
			return map[bool]int{true: -1, false: 1}[a.Runs]
		}
		return cmp.Compare(a.Rank, b.Rank)
	})
	for i := range all {
		if d := &all[i]; d.Runs && d.Name == f.running {
			d.Found = "the UPF runs with it; " + d.Found
		}
		if all[i].Rank = i + 1; !all[i].Runs {
			all[i].Rank = 0
		}
	}
	return all
}

// programs says what stands against programs on the devices; "": nothing.
func (f *facts) programs(err error) (why, advice string) {
	switch {
	case len(f.missing) > 0:
		return "not effective: " + strings.Join(f.missing, ", "),
			"run as root, or with these capabilities"
	case err != nil:
		return firstLine(err), "a newer kernel, or one that is built with it"
	case len(f.absent) > 0:
		return "no device " + strings.Join(f.absent, ", "), "see ip -br link"
	case len(f.devices) == 0:
		return "no device is up", "ip link set DEVICE up"
	}
	for _, d := range f.devices {
		if !d.ethernet {
			return d.name + " is no Ethernet device", "another device, or datapath tun or tap"
		}
	}
	return "", ""
}

// taken says which devices XDP programs have hold of, and what to do about them; "":
// none has, or that of the UPF itself.
func (f *facts) taken() (found, advice string) {
	var own, foreign []string
	for i := range f.devices {
		d := &f.devices[i]
		switch text := fmt.Sprintf("%s (%s)", d.name, d.holder()); {
		case !d.xdp.Attached || f.ours:
		case !slices.Contains(f.own, d.program):
			foreign = append(foreign, text)
		case f.running == "":
			own = append(own, text)
		}
	}
	var all []string
	if len(own) > 0 {
		all, advice = append(all, "a plumb upf has "+strings.Join(own, ", ")), "it runs, or has left its programs pinned: stop it first"
	}
	if len(foreign) > 0 {
		all, advice = append(all, "another XDP program has "+strings.Join(foreign, ", ")), "detach it, or take tc"
	}
	return strings.Join(all, "; "), advice
}

// without returns the devices that do not announce all of these features.
func (f *facts) without(want netdev.Features) (names []string) {
	for _, d := range f.devices {
		if d.features&want != want {
			names = append(names, d.name)
		}
	}
	return names
}

// noTarget names the devices to which XDP in native mode cannot redirect, each with why.
func (f *facts) noTarget() string {
	var all []string
	for i := range f.devices {
		if why := f.devices[i].noTarget(); why != "" {
			all = append(all, f.devices[i].name+": "+why)
		}
	}
	return strings.Join(all, ", ")
}

func (f *facts) judgeXDP() Datapath {
	d := Datapath{Name: "xdp"}
	if d.Found, d.Advice = f.programs(cmp.Or(f.xdp, f.refused["xdp"])); d.Found != "" {
		return d
	}
	if d.Found, d.Advice = f.taken(); d.Found != "" {
		return d
	}
	d.Runs, d.Rank, d.Found = true, rankNative, "native on "+f.names()
	if why := f.noTarget(); why != "" {
		d.Rank, d.Found = rankGeneric, "generic, which is slower: "+why
		d.Advice = adviceNoTarget
	}
	if generic := f.without(netdev.Basic | netdev.Redirect); len(generic) > 0 {
		d.Rank = rankGeneric
		d.Found = "generic, which is slower: no native XDP with redirect announced by " + strings.Join(generic, ", ")
		d.Advice = "another device or driver; some announce it only with enough queues, without LRO or below an MTU (--device tries)"
	}
	return d
}

func (f *facts) judgeTC() Datapath {
	d := Datapath{Name: "tc"}
	if d.Found, d.Advice = f.programs(cmp.Or(f.cls, f.refused["tc"])); d.Found != "" {
		return d
	}
	d.Runs, d.Rank, d.Found = true, rankTC, "tcx on "+f.names()
	if f.tcx != nil {
		d.Found, d.Advice = "clsact on "+f.names()+": "+f.tcx.Error(), "Linux 6.6 or later has tcx"
	}
	return d
}

func (f *facts) judgeAFXDP() Datapath {
	d := Datapath{Name: "afxdp"}
	if d.Found, d.Advice = f.programs(cmp.Or(errors.Join(f.xsk, f.xdp), f.refused["afxdp"])); d.Found != "" {
		return d
	}
	if d.Found, d.Advice = f.taken(); d.Found != "" {
		return d
	}
	d.Runs, d.Rank, d.Found = true, rankAFXDP, "zero copy on "+f.names()
	if copied := f.without(netdev.Basic | netdev.Redirect | netdev.ZeroCopy); len(copied) > 0 {
		d.Found = "frames are copied: no zero copy announced by " + strings.Join(copied, ", ")
	}
	return d
}

// judgeP4: the ports of the pipeline in the process are AF_XDP sockets.
func (f *facts) judgeP4() Datapath {
	d := f.judgeAFXDP()
	d.Name = "p4"
	if d.Runs {
		d.Rank, d.Found = rankP4, "P4 pipeline in the process; "+d.Found
	}
	return d
}

func (f *facts) judgeTUN(name string, rank int) Datapath {
	d := Datapath{Name: name}
	switch {
	case errors.Is(f.tun, os.ErrPermission):
		d.Found, d.Advice = f.tun.Error(), "run as root"
	case f.tun != nil:
		d.Found, d.Advice = f.tun.Error(), "modprobe tun; a container has to be given /dev/net/tun"
	case !f.netAdmin:
		d.Found, d.Advice = "not effective: CAP_NET_ADMIN", "run as root, or with this capability"
	case f.still:
		d.Found, d.Advice = "this host does not forward IPv4 packets", "sysctl -w "+switchIPv4+"=1"
	default:
		d.Runs, d.Rank, d.Found = true, rank, "user space, "+strings.ToUpper(name)+" device"
	}
	return d
}

// names lists the devices.
func (f *facts) names() string {
	var names []string
	for _, d := range f.devices {
		names = append(names, d.name)
	}
	return strings.Join(names, ", ")
}
