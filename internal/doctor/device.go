package doctor

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// device is what can be read about one network device without touching it.
type device struct {
	name     string
	driver   string
	mtu      int // octets
	queues   int // receive queues; 0: unknown
	up       bool
	ethernet bool
	xdp      netlink.LinkXdp
	features netdev.Features
	// announced: features were reported (Linux 6.3 or later)
	announced bool
	lro       bool
	program   string // name of the XDP program that is attached; empty: none, or not to be asked
}

// devices looks at the devices of the UPF, or at every device of this namespace but
// loopback, and attaches to those that o.Attach names.
func devices(o *Options) []Check {
	links, err := netlink.LinkList()
	if err != nil {
		return []Check{Check{Area: AreaDevice, Name: "devices", NeededFor: "N3 and N6"}.tried(err, "", Warn, "run as root")}
	}
	tool, err := ethtool.NewEthtool()
	if err == nil {
		defer tool.Close()
	} else {
		tool = nil
	}
	var checks []Check
	for _, l := range links {
		attrs := l.Attrs()
		ask := asking{attach: slices.Contains(o.Attach, attrs.Name), own: slices.Contains(o.Devices, attrs.Name), withoutXDP: o.withoutXDP()}
		if !ask.attach && !ask.own && (o.Configured || attrs.Flags&net.FlagLoopback != 0) {
			continue
		}
		d := readDevice(l, tool)
		checks = append(checks, d.check(ask))
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Attach, o.Devices)))) {
		if !slices.ContainsFunc(links, func(l netlink.Link) bool { return l.Attrs().Name == name }) {
			checks = append(checks, Check{
				Area: AreaDevice, Name: name, Status: Missing, Found: "no such device in this network namespace",
				NeededFor: "N3 or N6", Advice: "see ip -br link", Required: true,
			})
		}
	}
	return checks
}

// withoutXDP: the UPF has no XDP programs.
func (o *Options) withoutXDP() bool {
	return o.Datapath != "" && !slices.Contains(byXDP, o.Datapath)
}

// isUp: the device carries packets. A driver that knows of no link, such as that of TUN devices,
// says nothing about its state, and has a carrier or not.
func isUp(a *netlink.LinkAttrs) bool {
	return a.OperState == netlink.OperUp || a.OperState == netlink.OperUnknown && a.Flags&net.FlagUp != 0 && a.Flags&net.FlagRunning != 0
}

// readDevice reads about one device; tool may be nil.
func readDevice(l netlink.Link, tool *ethtool.Ethtool) device {
	attrs := l.Attrs()
	d := device{
		name: attrs.Name, driver: l.Type(), mtu: attrs.MTU, up: isUp(attrs),
		ethernet: attrs.EncapType == "ether", queues: receiveQueues(attrs.Name),
	}
	var err error
	d.features, err = netdev.Announced(attrs.Index)
	d.announced = err == nil
	if attrs.Xdp != nil {
		d.xdp = *attrs.Xdp
		d.program = programName(d.xdp)
	}
	if tool != nil {
		d.ask(tool)
	}
	return d
}

// ask fills in what the driver says. A driver that says nothing leaves the
// link's type in place of its own name.
func (d *device) ask(tool *ethtool.Ethtool) {
	if name, err := tool.DriverName(d.name); err == nil {
		d.driver = name
	}
	if features, err := tool.Features(d.name); err == nil {
		d.lro = features["rx-lro"]
	}
}

// programName asks what the attached program is called.
func programName(xdp netlink.LinkXdp) string {
	if !xdp.Attached {
		return ""
	}
	prog, err := ebpf.NewProgramFromID(ebpf.ProgramID(xdp.ProgId))
	if err != nil {
		return ""
	}
	defer prog.Close()
	info, err := prog.Info()
	if err != nil {
		return ""
	}
	return info.Name
}

// holder names the program that is attached.
func (d *device) holder() string {
	if d.program == "" {
		return fmt.Sprintf("program %d", d.xdp.ProgId)
	}
	return fmt.Sprintf("program %d, %s", d.xdp.ProgId, d.program)
}

func receiveQueues(name string) int {
	queues, err := filepath.Glob(filepath.Join("/sys/class/net", name, "queues", "rx-*"))
	if err != nil {
		return 0
	}
	return len(queues)
}

// asking is what is asked about a device.
type asking struct {
	attach     bool // try an XDP program
	own        bool // it is of the UPF that is asked about
	withoutXDP bool // which has no XDP programs
}

// check turns what was read into a row.
func (d *device) check(ask asking) Check {
	c := Check{Area: AreaDevice, Name: d.name, Status: OK, NeededFor: "N3 or N6"}
	found := []string{d.driver, fmt.Sprintf("MTU %d", d.mtu)}
	if d.queues > 0 {
		found = append(found, fmt.Sprintf("%d rx queue(s)", d.queues))
	}
	var advice []string
	if !d.up {
		found = append(found, "down")
		if ask.own {
			advice = append(advice, "ip link set "+d.name+" up, and look at its link")
		}
	}
	if ask.attach || !ask.withoutXDP && (ask.own || !d.ofProgram()) {
		text, hint, works := d.aboutXDP(ask.attach)
		found, advice = append(found, text...), append(advice, hint...)
		if !works {
			c.Status, c.Required = Missing, true
		}
	}
	c.Found, c.Advice = strings.Join(found, ", "), strings.Join(advice, "; ")
	if c.Advice != "" && c.Status == OK {
		c.Status = Warn
	}
	return c
}

// ofProgram: a program has made it (TUN, TAP), such as a UPF, a gNB or a VPN. It is N3 or N6
// only if the configuration says so.
func (d *device) ofProgram() bool { return d.driver == "tun" }

// aboutXDP is what matters to XDP programs. attach adds what trying shows; works is false if
// that fails.
func (d *device) aboutXDP(attach bool) (found, advice []string, works bool) {
	works = true
	text, hint := d.xdpSupport()
	found, advice = append(found, text), appendText(advice, hint)
	if d.xdp.Attached {
		found = append(found, "XDP "+d.holder()+" attached")
		if attach {
			found = append(found, "so not tried")
		}
		advice = append(advice, "the datapaths below say whose it is, and what to do about it")
	} else if attach {
		text, hint, works = d.tryAttach()
		found, advice = append(found, text), appendText(advice, hint)
	}
	if why := d.noTarget(); why != "" {
		found, advice = append(found, why), append(advice, adviceNoTarget)
	}
	if d.lro {
		found = append(found, "LRO on")
		advice = append(advice, "LRO excludes native XDP: ethtool -K "+d.name+" lro off")
	}
	return found, advice, works
}

// adviceNoTarget is for what [device.noTarget] says.
const adviceNoTarget = "ethtool -K DEVICE gro on at the far end; else auto takes tc"

// noTarget says why frames get lost that XDP redirects to the device; "": they do not.
func (d *device) noTarget() string { return netdev.NoTarget(d.driver, d.features, d.announced) }

func appendText(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

// xdpSupport says what the driver announces.
func (d *device) xdpSupport() (found, advice string) {
	switch {
	case !d.announced:
		return "XDP support not announced by this kernel", "plumb doctor --device " + d.name + " tries it"
	case d.features&netdev.Basic == 0:
		return "no native XDP", d.genericAdvice()
	case d.features&netdev.Redirect == 0:
		return "native XDP without redirect", d.genericAdvice()
	default:
		return "native XDP (" + d.features.String() + ")", ""
	}
}

// genericAdvice is for a device in use: one that is down is nobody's N3 or N6.
func (d *device) genericAdvice() string {
	switch {
	case !d.up:
		return ""
	case !d.ethernet:
		return "no Ethernet device: take datapath tun or tap"
	}
	return "datapath xdp runs in generic mode here, which is slower; auto takes tc"
}

// tryAttach attaches a passing program for a moment, in native mode, then in
// generic mode.
func (d *device) tryAttach() (found, advice string, works bool) {
	err := attachTo(d.name, link.XDPDriverMode)
	if err == nil {
		return "native attach works", "", true
	}
	native := "native attach: " + firstLine(err)
	if err := attachTo(d.name, link.XDPGenericMode); err != nil {
		return native + ", generic attach: " + firstLine(err), "use another device", false
	}
	return native + ", generic attach works", "", true
}
