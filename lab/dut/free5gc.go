package dut

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
)

// free5gc is go-upf with the kernel module gtp5g, which forwards socket buffers.
//
// Tried with go-upf 6949b36 and gtp5g 0.10.2 in a virtual machine without hardware acceleration (Linux 6.12.118) and 200 sessions: all that
// TestPeers does; correctness but TCP, a throughput, a load on N4. What it ignores was seen, but QFI in a PDI, GBR, and what makes N4 block:
// that is what its code and that of gtp5g say.
var free5gc = Kind{
	Name: "free5gc", Title: "free5GC go-upf", Program: "upf",
	Install: "free5GC: https://free5gc.org/guide/: go build in https://github.com/free5gc/go-upf, and make install of the kernel module in " +
		"https://github.com/free5gc/gtp5g; then --dut free5gc=/path/to/upf",
	Tested: "With 6949b36, gtp5g 0.10.2 and Linux 6.12, emulated: 200 sessions, packets both ways, N4, park, kill. Not: 20,000 sessions.",
	Traits: Traits{Offloads: true, Packets: true, Lossy: true, IPv4Only: true, Burst: gtp5gBurst, Ignores: []string{
		"MBR, unless /proc/gtp5g/qos says 1; GBR.",
		"QFI in a PDI.",
		"Buffering: packets are kept, and not forwarded when the FAR says FORW again; a request that comes while more than 128 of them wait blocks N4 for good.",
		"MBRs and volumes of URRs are of the payload of UDP and TCP, without IP headers.",
		"Volume of a URR without a Measurement Period in the report at the end of the session: it is 0.",
		"Volume Quota without a threshold or a period.",
	}},
	Dialect: n4load.Dialect{CPFTEID: true},
	Version: goVersion("github.com/free5gc/go-upf"),
	Needs:   needsGTP5G,
	Plan:    planFree5GC,
}

// gtp5gBurst is what the policer of gtp5g lets pass at once: a second of the MBR, and 200 ms more.
const gtp5gBurst = 1200 * time.Millisecond

// needsGTP5G says that the kernel module is missing.
func needsGTP5G() error {
	if _, err := os.Stat("/sys/module/gtp5g"); err != nil {
		return fmt.Errorf("%w: the kernel module gtp5g is not loaded: make install in https://github.com/free5gc/gtp5g, then modprobe gtp5g",
			errors.ErrUnsupported)
	}
	return nil
}

// free5gcDevice is what it calls its device, to which it routes the UE pool.
const free5gcDevice = "upfgtp"

func planFree5GC(p *Place, directory string) (*Plan, error) {
	const name = "upfcfg.yaml"
	pool, err := p.pool()
	if err != nil {
		return nil, err
	}
	mtu := ""
	if p.MTU > 0 {
		mtu = fmt.Sprintf("      mtu: %d\n", p.MTU)
	}
	config := fmt.Sprintf(`version: 1.0.3
description: device under test
pfcp:
  addr: %[1]v
  nodeID: %[1]v
  retransTimeout: 1s
  maxRetrans: 3
gtpu:
  forwarder: gtp5g
  ifList:
    - addr: %[2]v
      type: N3
%[3]sdnnList:
  - dnn: internet
    cidr: %[4]v
logger:
  enable: true
  level: warn
  reportCaller: false
`, p.N4UPF, p.N3.UPF.Address.Addr(), mtu, pool)
	remove := func() error { return removeDevice(free5gcDevice) } // one that was killed leaves it
	return &Plan{
		Args:  []string{"-c", filepath.Join(directory, name)},
		Files: map[string]string{name: config}, Show: name, Setup: remove, Teardown: remove,
	}, nil
}
