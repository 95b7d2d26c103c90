package dut

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"plumbline/lab/n4load"
)

// upgVPP is UPG-VPP: VPP with the UPF plugin, on packet sockets, since the devices
// of a test bed are no PCI devices.
//
// Not tried with the program. Configuration and dialect are those of its end-to-end tests (120bc8f).
var upgVPP = Kind{
	Name: "upg-vpp", Title: "UPG-VPP", Program: "vpp",
	Install: "UPG-VPP: https://github.com/travelping/upg-vpp: make debs, then its packages of VPP and of the plugin; then --dut upg-vpp=/path/to/vpp",
	Tested:  "Not with the program: only that its configuration is written.",
	Traits: Traits{Packets: true, Lossy: true, Ignores: []string{
		"QFI: downlink packets have no PDU Session Container.",
		"Buffering: it refuses Apply Action BUFF.",
	}},
	Dialect: n4load.Dialect{AccessInstance: upgInstance, CoreInstance: upgInstance},
	Version: saysVersion("--version"),
	Plan:    planUPGVPP,
}

const (
	upgInstance = "internet"
	upgDeviceN4 = "n4" // the namespace's end of the TAP device over which N4 comes
)

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
		Setup:    func() error { return takeAddresses(p) },
		Teardown: func() error { return giveAddresses(p) },
	}, nil
}

// upgStartup is startup.conf, with all files in the directory.
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
// Ethernet addresses, and N4 comes over a TAP device.
func upgCommands(p *Place) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	n4 := common(p.N4UPF, p.N4SMF)
	say("create tap id 0 host-if-name %s host-ip4-addr %v", upgDeviceN4, netip.PrefixFrom(p.N4SMF, n4.Bits()))
	say("set interface ip address tap0 %v", netip.PrefixFrom(p.N4UPF, n4.Bits()))
	say("set interface state tap0 up")
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
