package upf

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// P4 is how the datapath on a P4 target works.
type P4 struct {
	// Target is host:port of a P4Runtime server, or unix:FILE; empty: the pipeline runs in this process, and
	// its ports are the devices of N3, N6 and so on, as [AFXDP] has them.
	Target     string `yaml:"target" json:"target"`
	DeviceID   uint64 `yaml:"device_id" json:"device_id"`
	ElectionID uint64 `yaml:"election_id" json:"election_id"`
	// Replace another pipeline that the target runs.
	Replace bool `yaml:"replace" json:"replace"`
	// Ports of the target, each with the TAP device that stands for it here.
	Ports []P4Port `yaml:"ports" json:"ports"`

	TLS             bool   `yaml:"tls" json:"tls"`
	CAFile          string `yaml:"ca_file" json:"ca_file"` // PEM certificates that sign the target's; empty: the machine's
	CertificateFile string `yaml:"certificate_file" json:"certificate_file"`
	KeyFile         string `yaml:"key_file" json:"key_file"`
}

// P4Port is a port of a P4 target.
type P4Port struct {
	Device string `yaml:"device" json:"device"`
	Port   int    `yaml:"port" json:"port"`
}

// maxP4Port is the highest port of the pipeline; those above are its own.
const maxP4Port = 509

func (c *Config) checkP4(m *checks) {
	p := &c.P4
	socket, isSocket := strings.CutPrefix(p.Target, "unix:")
	m.Want(p.Target == "" || isSocket && socket != "" || isHostPort(p.Target), "p4.target", p.Target, "host:port of a P4Runtime server, unix:FILE, or nothing")
	m.Want(p.ElectionID >= 1, "p4.election_id", p.ElectionID, "1 or more")
	m.Want(p.Target != "" || len(p.Ports) == 0, "p4.ports", len(p.Ports), "none without p4.target: the devices are the ports")
	m.Want(!p.TLS || p.Target != "" && !isSocket, "p4.tls", p.TLS, "false without a host in p4.target")
	m.Want((p.CertificateFile == "") == (p.KeyFile == ""), "p4.key_file", p.KeyFile, "a file with p4.certificate_file, and nothing without")
	m.Want(p.TLS || p.CAFile == "" && p.CertificateFile == "", "p4.ca_file", p.CAFile, "nothing without p4.tls: true")
	var names []string
	var numbers []int
	for i := range p.Ports {
		one, key := &p.Ports[i], fmt.Sprintf("p4.ports[%d]", i)
		m.Want(netdev.IsName(one.Device) && !slices.Contains(names, one.Device), key+".device", one.Device, "the name of a TAP device that no other port has")
		m.Want(one.Port >= 0 && one.Port <= maxP4Port && !slices.Contains(numbers, one.Port), key+".port", one.Port,
			fmt.Sprintf("0 to %d, a number that no other port has", maxP4Port))
		names, numbers = append(names, one.Device), append(numbers, one.Port)
	}
	if p.Target == "" || c.Datapath != DatapathP4 {
		return
	}
	for _, d := range c.Devices() {
		m.Want(slices.Contains(names, d), "p4.ports", d, "a port for each device of N3, N6, gtpu and data_networks")
	}
}

func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && host != "" && n != 0
}
