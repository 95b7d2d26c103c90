package dut

import (
	"path/filepath"

	"github.com/plumbline-upf/plumbline/upf"
)

// Plumbline is this project's UPF with a datapath of package upf. adjust changes
// its configuration, in which all that the place does not say is as by default; it
// may be nil.
func Plumbline(datapath string, adjust func(*upf.Config)) Kind {
	return Kind{
		Name:   datapath,
		Title:  "Plumbline " + datapath,
		Tested: "This version, with every release.",
		Traits: own[datapath],
		Plan: func(p *Place, directory string) (*Plan, error) {
			c := configuration(p, datapath)
			if adjust != nil {
				adjust(c)
			}
			if c.XDP.Mode == upf.ModeAuto {
				// The far ends of the bed's links take redirected frames (package topology),
				// which Linux before 6.3 does not say: auto would then be generic.
				c.XDP.Mode = upf.ModeNative
			}
			c.API.Socket = filepath.Join(directory, "upf.sock")
			c.Metrics = upf.Metrics{} // its address is one for all
			file, err := c.Marshal()
			if err != nil {
				return nil, err
			}
			const name = "upf.yaml"
			return &Plan{
				Args:  []string{"upf", "--config", filepath.Join(directory, name)},
				Files: map[string]string{name: string(file)}, Show: name, Socket: c.API.Socket,
			}, nil
		},
	}
}

// own are the datapaths that are compared, and what a bed must know of each. XDP
// programs and AF_XDP sockets see a frame as it was handed to the device; the
// others leave it to the kernel to read and write frames.
var own = map[string]Traits{
	upf.DatapathXDP:   {Own: true},
	upf.DatapathTC:    {Own: true, Offloads: true, Packets: true},
	upf.DatapathAFXDP: {Own: true, Lossy: true},
	upf.DatapathP4:    {Own: true, Lossy: true},
	upf.DatapathTUN:   {Own: true, Offloads: true, Packets: true, Lossy: true},
	upf.DatapathTAP:   {Own: true, Offloads: true, Packets: true, Lossy: true},
}

// Datapaths are the names of our kinds, in the order of tables.
var Datapaths = []string{upf.DatapathXDP, upf.DatapathTC, upf.DatapathAFXDP, upf.DatapathTUN, upf.DatapathTAP, upf.DatapathP4}

// configuration is that of our UPF for a place.
func configuration(p *Place, datapath string) *upf.Config {
	c := upf.Default()
	c.NodeID, c.N4.Address = p.N4UPF.String(), p.N4UPF
	c.N3 = upf.N3{Device: p.N3.UPF.Device, Address: p.N3.UPF.Address.Addr()}
	c.N6 = upf.N6{Device: p.N6.UPF.Device}
	c.Datapath = datapath
	if datapath == upf.DatapathTUN || datapath == upf.DatapathTAP {
		// What leaves the device goes by the kernel's routes, as of other UPFs of sockets.
		c.TUN.Routes = p.UEPools // else there is one for each session
		c.TUN.Ring = true
	} else {
		c.N6.Gateway, c.N6.Gateway6 = p.N6.Peer.Address.Addr(), p.N6.Peer.Address6.Addr()
	}
	c.Sessions.Max = max(c.Sessions.Max, p.Sessions)
	return c
}
