package labcmd

import (
	"fmt"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/upf"
)

// Flags of plumb bench that would change nothing in what is to be measured are refused,
// so that nobody takes the figures for what they are not.

// benchFlag is a flag that not every run has a use for.
type benchFlag struct {
	name string
	set  bool
}

// refuseFlags is an error if one of the flags is set; why says what to do instead.
func refuseFlags(flags []benchFlag, why string) error {
	var names []string
	for _, f := range flags {
		if f.set {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return cli.Usage(fmt.Errorf("%s: %s", strings.Join(names, ", "), why))
}

// checkOne refuses flags that the run of one datapath, or of the control plane, has no
// use for.
func (c *Bench) checkOne() error {
	if c.N4 {
		return refuseFlags(append(c.ofPackets(), c.ofSeveral()...),
			"no effect with --n4, which measures the control plane of a UPF with datapath xdp: leave it out")
	}
	if err := refuseFlags(c.ofSeveral(), "only with several datapaths: add --datapath all, or a list such as xdp,tun"); err != nil {
		return err
	}
	if c.Datapath[0] == upf.DatapathXDP {
		return nil
	}
	return refuseFlags([]benchFlag{{"--spread", len(c.Spread) > 0}, {"--xdp-mode", c.XDPMode != upf.ModeAuto}},
		fmt.Sprintf("no effect with datapath %s: take --datapath xdp, or leave it out", c.Datapath[0]))
}

// checkSeveral refuses flags that the comparison of datapaths has no use for.
func (c *Bench) checkSeveral() error {
	return refuseFlags([]benchFlag{
		{"--rate", c.Rate != 0}, {"--threaded", c.Threaded}, {"--spread", len(c.Spread) > 0}, {"--n4", c.N4},
	}, "only with one datapath: name it with --datapath, or leave it out")
}

// ofSeveral are the flags of comparisons alone.
func (c *Bench) ofSeveral() []benchFlag {
	return []benchFlag{
		{"--quick", c.Quick}, {"--load", c.Load != nil}, {"--loss", c.Loss != nil}, {"--tcp", c.TCP != nil},
	}
}

// ofPackets are the flags that say what frames are sent, and through what.
func (c *Bench) ofPackets() []benchFlag {
	return []benchFlag{
		{"--datapath", c.Datapath[0] != upf.DatapathXDP}, {"--direction", c.Direction != "both"}, {"--access", c.Access != "uniform"},
		{"--payload", c.Payload != nil}, {"--rate", c.Rate != 0}, {"--repeat", c.Repeat != nil}, {"--threaded", c.Threaded},
		{"--spread", len(c.Spread) > 0}, {"--pdrs", c.PDRs != 1}, {"--mbr", c.MBR != 0}, {"--urr", c.URR},
		{"--outer-checksum", c.Checksum}, {"--html", c.HTML != ""}, {"--resume", c.Resume != ""}, {"--svg", c.SVG != ""}, {"--csv", c.CSV != ""},
		{"--parquet", c.Parquet != ""}, {"--hgrm", c.Hgrm != ""},
	}
}
