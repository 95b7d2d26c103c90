package faulty

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/dut"
)

// Fault is what goes wrong.
type Fault string

// The faults of every so many frames.
const (
	Nothing   Fault = ""
	Loss      Fault = "loss"
	Duplicate Fault = "duplicate"
	Reorder   Fault = "reorder"  // it leaves behind the next one
	TEID      Fault = "teid"     // downlink: of another tunnel
	QFI       Fault = "qfi"      // downlink
	NoQFI     Fault = "no_qfi"   // downlink: without PDU Session Container
	UE        Fault = "ue"       // another address, checksums right
	Checksum  Fault = "checksum" // of the user packet's IPv4 header
	Server    Fault = "server"   // another host of the data network, checksums right
	Payload   Fault = "payload"  // its last octet is another one
)

// Faults say what goes wrong with which frames.
type Faults struct {
	Fault   Fault
	Every   uint64 // frames whose sequence number it divides; those without one are counted
	DelayNS int64  // of every frame
	PPS     uint64 // more than that is dropped at once; 0: nothing is
	Octets  int    // user packets that are longer are dropped; 0: none is
	// Sessions is how many it has room for at once: more are refused; 0: for all.
	Sessions int
}

// setup is what the program must know of its place.
type setup struct {
	Faults
	N3, N6                             string // devices
	N3MAC, N3PeerMAC, N6MAC, N6PeerMAC []byte
	Node, N3Address, GNB               netip.Addr
}

const (
	variable = "PLUMB_FAULTY" // is the file of the setup
	fileName = "faulty.json"
)

// Kind is the UPF with faults. The test's program must call [Main] first.
func Kind(f Faults) dut.Kind {
	path, _ := os.Executable() // without it the start says so
	return dut.Kind{
		Name: "faulty", Title: "faulty", Path: path, Traits: dut.Traits{Lossy: true},
		Plan: func(p *dut.Place, directory string) (*dut.Plan, error) {
			s := setup{
				Faults: f, N3: p.N3.UPF.Device, N6: p.N6.UPF.Device,
				N3MAC: p.N3.UPF.MAC, N3PeerMAC: p.N3.Peer.MAC, N6MAC: p.N6.UPF.MAC, N6PeerMAC: p.N6.Peer.MAC,
				Node: p.N4UPF, N3Address: p.N3.UPF.Address.Addr(), GNB: p.N3.Peer.Address.Addr(),
			}
			text, err := json.Marshal(s)
			return &dut.Plan{
				Files: map[string]string{fileName: string(text)}, Show: fileName, Env: []string{variable + "=" + filepath.Join(directory, fileName)},
			}, err
		},
	}
}

// Main is the UPF, if this process was started as one; it returns if not.
func Main() {
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	if err := run(name); err != nil {
		fmt.Fprintln(os.Stderr, "faulty:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var s setup
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	port, err := beSilent(&s)
	if err != nil {
		return err
	}
	defer port.Close()
	t := &table{byTEID: map[uint32]netip.Addr{}, byUE: map[netip.Addr]tunnel{}}
	ended := make(chan error, 3)
	for _, way := range []bool{true, false} {
		p, err := newPlane(&s, t, way)
		if err != nil {
			return err
		}
		go func() { ended <- p.run() }()
	}
	go func() { ended <- serve(&s, t) }()
	return errors.Join(<-ended)
}

// beSilent keeps the kernel, which sees every packet as well, from answering: that GTP-U
// has no port, and that UEs have no route.
func beSilent(s *setup) (port *net.UDPConn, err error) {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0); err != nil {
		return nil, err
	}
	return net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.N3Address, gtpu.Port))) // is never read
}
