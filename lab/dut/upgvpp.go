package dut

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// upgVPP is UPG-VPP: VPP with the UPF plugin, on packet sockets, since the devices
// of a test bed are no PCI devices.
var upgVPP = Kind{
	Name: "upg-vpp", Title: "UPG-VPP", Program: "vpp",
	Install: "UPG-VPP: https://github.com/travelping/upg-vpp: make debs, then its packages of VPP and of the plugin; then --dut upg-vpp=/path/to/vpp",
	Tested:  "With 120bc8f on VPP 24.02 and Linux 6.18: 200 sessions, packets both ways, usage, park, kill. Not: 20,000 sessions.",
	Traits: Traits{Packets: true, Lossy: true, Unenforced: []meter.Kind{meter.NoQFI}, Ignores: []string{
		"QFI: downlink packets have no PDU Session Container.",
		"Buffering: it refuses Apply Action BUFF.",
	}},
	Dialect: n4load.Dialect{AccessInstance: upgInstance, CoreInstance: upgInstance},
	Version: upgVersion,
	Plan:    planUPGVPP,
}

const (
	upgInstance = "internet"

	// Ends of the pair of devices over which N4 comes: the kernel's and VPP's.
	upgDeviceN4, upgDeviceN4UPF = "n4", "n4-upf"
)

// upgMACN4 is VPP's on N4. Its device has another one, so that the kernel, which sees
// every frame as well, leaves them alone.
var upgMACN4 = net.HardwareAddr{0x02, 0, 0, 0, 4, 1}

func planUPGVPP(p *Place, directory string) (*Plan, error) {
	const startup, commands = "startup.conf", "init.conf"
	cpu := ""
	if len(p.CPUs) > 0 {
		cpu = fmt.Sprintf("cpu {\n  main-core %d\n}\n", p.CPUs[0])
	}
	return &Plan{
		Args: []string{"-c", filepath.Join(directory, startup)},
		Files: map[string]string{
			startup:  upgStartup(directory, filepath.Join(directory, commands)) + cpu,
			commands: upgCommands(p),
		},
		Show:     commands,
		Setup:    func() error { return errors.Join(takeAddresses(p), makeN4(p)) },
		Teardown: func() error { return errors.Join(removeDevice(upgDeviceN4), giveAddresses(p)) },
	}, nil
}

// makeN4 makes the devices of N4, and leads to VPP what is for its address. A TAP device
// of VPP's would need /dev/vhost-net.
func makeN4(p *Place) error {
	if err := removeDevice(upgDeviceN4); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = upgDeviceN4
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: upgDeviceN4UPF}); err != nil {
		return fmt.Errorf("create veth %s: %w", upgDeviceN4, err)
	}
	for _, device := range []string{upgDeviceN4UPF, upgDeviceN4} {
		// VPP looks at the checksum of what comes.
		if err := topology.SetFeatures(device, map[string]bool{"tx-checksum-ip-generic": false}); err != nil {
			return fmt.Errorf("features of %s: %w", device, err)
		}
		link, err := netlink.LinkByName(device)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("bring up %s: %w", device, err)
		}
		if device == upgDeviceN4 {
			err = netlink.RouteReplace(&netlink.Route{
				LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK, Dst: ipNet(netip.PrefixFrom(p.N4UPF, p.N4UPF.BitLen())), Src: p.N4SMF.AsSlice(),
			})
		}
		if err != nil {
			return fmt.Errorf("route %v to %s: %w", p.N4UPF, device, err)
		}
	}
	return nil
}

// upgStartup is startup.conf, with all files in the directory. Buffers are not in huge pages:
// VPP would have the kernel set some aside, which stay so when it has ended.
func upgStartup(directory, commands string) string {
	return fmt.Sprintf(`unix {
  nodaemon
  nosyslog
  runtime-dir %[1]s
  cli-listen %[1]s/cli.sock
  exec %[2]s
}
socksvr {
  socket-name %[1]s/api.sock
}
statseg {
  socket-name %[1]s/stats.sock
}
heapsize 2G
buffers {
  page-size default
}
plugins {
  plugin dpdk_plugin.so { disable }
  plugin gtpu_plugin.so { disable }
  plugin upf_plugin.so { enable }
}
session {
  enable
}
`, directory, commands)
}

// upgCommands is init.conf: the devices of the place become VPP's, with their
// Ethernet addresses, and N4 comes over a device of its own.
func upgCommands(p *Place) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	n4 := common(p.N4UPF, p.N4SMF)
	say("create host-interface name %s hw-addr %v", upgDeviceN4UPF, upgMACN4)
	say("set interface ip address host-%s %v", upgDeviceN4UPF, netip.PrefixFrom(p.N4UPF, n4.Bits()))
	say("set interface state host-%s up", upgDeviceN4UPF)
	for _, l := range p.links() {
		device := "host-" + l.UPF.Device
		say("create host-interface name %s hw-addr %v", l.UPF.Device, l.UPF.MAC)
		if p.MTU > 0 {
			say("set interface mtu packet %d %s", p.MTU, device)
		}
		for _, a := range []netip.Prefix{l.UPF.Address, l.UPF.Address6} {
			if a.IsValid() {
				say("set interface ip address %s %v", device, a)
			}
		}
		say("set interface state %s up", device)
		for _, a := range []netip.Prefix{l.Peer.Address, l.Peer.Address6} {
			if a.IsValid() {
				say("set ip neighbor static %s %v %v", device, a.Addr(), l.Peer.MAC)
			}
		}
	}
	say("ip route add 0.0.0.0/0 via %v host-%s", p.N6.Peer.Address.Addr(), p.N6.UPF.Device)
	if a := p.N6.Peer.Address6; a.IsValid() {
		say("ip route add ::/0 via %v host-%s", a.Addr(), p.N6.UPF.Device)
	}
	say("upf specification release 16") // then it chooses F-TEIDs
	say("upf node-id ip4 %v", p.N4UPF)
	say("upf nwi name %s vrf 0", upgInstance)
	say("upf pfcp endpoint ip %v vrf 0", p.N4UPF)
	say("upf gtpu endpoint ip %v nwi %s teid 0x80000000/2", p.N3.UPF.Address.Addr(), upgInstance)
	return b.String()
}

// common is the longest network, but no longer than of four addresses, that two
// addresses share.
func common(a, b netip.Addr) netip.Prefix {
	for bits := 30; ; bits-- {
		if p := netip.PrefixFrom(a, bits).Masked(); p.Contains(b) {
			return p
		}
	}
}
