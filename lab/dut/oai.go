package dut

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/n4load"
)

// oai is OAI-CN5G-UPF with its XDP datapath.
//
// Not tried with the program. The configuration is that of its etc/config.yaml (v2.2.1), as it is used with other cores.
var oai = Kind{
	Name: "oai", Title: "OAI-CN5G-UPF", Program: "oai_upf",
	Install: "OAI: https://github.com/openairinterface/oai-cn5g-upf: build/scripts/build_upf -I -f, then build_upf -c -V -b Release -j, or its " +
		"container image; then --dut oai=/path/to/upf",
	Tested: "Not with the program: only that its configuration is written.",
	Dialect: n4load.Dialect{
		AccessInstance: oaiInstance, CoreInstance: oaiInstance, DNN: oaiInstance,
		GBR: true, PDRs: 8,
	},
	Traits: Traits{IPv4Only: true},
	Plan:   planOAI,
}

const (
	oaiInstance = "internet"
	oaiDeviceN4 = "n4" // it takes N4's address from a device, and of lo the first one
)

func planOAI(p *Place, directory string) (*Plan, error) {
	const name = "config.yaml"
	pool, err := p.pool()
	if err != nil {
		return nil, err
	}
	return &Plan{
		Args:  []string{"-c", filepath.Join(directory, name), "-o"},
		Files: map[string]string{name: oaiConfig(p, pool)}, Show: name, Mounts: true,
		Setup:    func() error { return moveN4(p, "lo", oaiDeviceN4) },
		Teardown: func() error { return errors.Join(removeDevice(oaiDeviceN4), giveAddresses(p)) },
	}, nil
}

// moveN4 makes a device that has the address of N4 in place of another.
func moveN4(p *Place, from, to string) error {
	if err := makeTUN(&Place{}, to, true); err != nil {
		return err
	}
	address := netip.PrefixFrom(p.N4UPF, p.N4UPF.BitLen())
	for _, step := range []struct {
		device string
		do     func(netlink.Link, *netlink.Addr) error
	}{{from, netlink.AddrDel}, {to, netlink.AddrReplace}} {
		link, err := netlink.LinkByName(step.device)
		if err == nil {
			err = step.do(link, &netlink.Addr{IPNet: ipNet(address)})
		}
		if err != nil {
			return fmt.Errorf("address %v of %s: %w", address, step.device, err)
		}
	}
	return nil
}

// oaiTemplate is config.yaml. NRF and SMF are not asked, but must be there.
const oaiTemplate = `log_level:
  general: warning
register_nf:
  general: no
http_version: 2
nfs:
  nrf:
    host: %[1]v
    sbi:
      port: 8080
      api_version: v1
      interface_name: %[2]s
  smf:
    host: %[1]v
    sbi:
      port: 8080
      api_version: v1
      interface_name: %[2]s
    n4:
      interface_name: %[2]s
      port: 8805
  upf:
    host: %[3]v
    sbi:
      port: 8080
      api_version: v1
      interface_name: %[2]s
    n3:
      interface_name: %[4]s
      port: 2152
      nwi: %[5]s
    n4:
      interface_name: %[2]s
      port: 8805
    n6:
      interface_name: %[6]s
      nwi: %[5]s
    n9:
      interface_name: %[4]s
      port: 2152
snssais:
  - &slice1
    sst: 1
upf:
  support_features:
    enable_bpf_datapath: yes
    enable_qos: yes
    enable_urr: yes
    enable_bar: no
    enable_mar: no
    enable_snat: no
    enable_fr: no
    enable_eth_pdu: no
  remote_n6_gw: %[7]v
  upf_info:
    sNssaiUpfInfoList:
      - sNssai: *slice1
        dnnUpfInfoList:
          - dnn: %[5]s
  datapath_configuration:
    max_pdu_sessions: %[8]d
    max_pdrs_per_pdu_session: 8
    max_fars_per_pdu_session: 8
    max_qers_per_pdu_session: 8
    max_urrs_per_pdu_session: 4
dnns:
  - dnn: %[5]s
    pdu_session_type: "IPV4"
    ipv4_subnet: "%[9]v"
`

func oaiConfig(p *Place, pool netip.Prefix) string {
	const least = 100
	return fmt.Sprintf(oaiTemplate, p.N4SMF, oaiDeviceN4, p.N4UPF, p.N3.UPF.Device, oaiInstance, p.N6.UPF.Device, p.N6.Peer.Address.Addr(), max(least, p.Sessions), pool)
}
