package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// Switches of this network namespace by which the kernel forwards.
const (
	switchIPv4 = "net.ipv4.ip_forward"
	switchIPv6 = "net.ipv6.conf.all.forwarding"
)

// forwarding looks at what the datapaths tun and tap leave to the kernel.
func forwarding() []Check {
	return []Check{
		forwards("IPv4 forwarding", switchIPv4, readFile("/proc/sys/net/ipv4/ip_forward")),
		forwards("IPv6 forwarding", switchIPv6, readFile("/proc/sys/net/ipv6/conf/all/forwarding")),
		udpOption("UDP GRO", unix.UDP_GRO, version{5, 0}),
		udpOption("UDP GSO", unix.UDP_SEGMENT, version{4, 18}),
	}
}

// forwards is the check of one switch.
func forwards(name, key, value string) Check {
	c := Check{Area: AreaNetwork, Name: name, Status: OK, Found: "on", NeededFor: "the tun and tap datapaths: the kernel routes beyond the device"}
	if value != "1" {
		c.Status, c.Found, c.Advice = Warn, "off", "sysctl -w "+key+"=1, for tun and tap; the other datapaths need none"
	}
	return c
}

// udpOption tries an option of UDP sockets.
func udpOption(name string, option int, since version) Check {
	f := feature{name: name, neededFor: "the tun and tap datapaths, plumb gnb: many datagrams cross in one call", since: since}
	f.try = func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		defer unix.Close(fd)
		return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_UDP, option, 1))
	}
	return f.check(AreaNetwork)
}
