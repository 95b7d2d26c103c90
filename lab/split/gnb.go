package split

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// gnb is the processes of a case.
type gnb struct {
	dir       string
	program   string
	metrics   bool // the processes have metrics
	realtime  bool
	processes []*process
}

type process struct {
	*apps.Process
	name    string
	ns      *topology.Namespace
	started time.Time
	mallocs *float64 // objects for each slot; nil: not counted
}

// Ports of the split.
const (
	portP5    = 50001
	portVNFP7 = 50011
	portPNFP7 = 50010
	portAsVNF = 50021 // of a relay between them
	portAsPNF = 50020
	phyID     = 1
)

// document is a configuration file.
type document map[string]any

// startGNB starts the processes of a case. After an error nothing is left of them.
func (b *bed) startGNB(c *Config, one *Case, dir string) (_ *gnb, err error) {
	g := &gnb{dir: dir, program: c.Program, metrics: one.Idle > 0, realtime: one.Realtime}
	if g.program == "" {
		if g.program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			g.kill()
		}
	}()
	cell := one.Radio
	cell.UEs = []radio.UE{{RNTI: one.Radio.UEs[0].RNTI, Preamble: one.Radio.UEs[0].Preamble, QFI: qfi, Addresses: []netip.Addr{b.session.UE}}}
	if one.OnePiece {
		file := document{"radio": cell, "core": b.core(), "air": b.air(one), "slot_ahead": one.SlotAhead}
		return g, g.start(b.top.GNB, nameOnePiece, file)
	}
	vnf, pnf := b.split(one)
	vnf["radio"], vnf["core"] = cell, b.core()
	pnf["radio"], pnf["air"] = cell, b.air(one)
	if err := g.start(b.top.GNB, nameSplit[0], vnf); err != nil {
		return nil, err
	}
	if one.Grid {
		if err := g.startRelay(b.top.GNB, one); err != nil {
			return nil, err
		}
	}
	return g, g.start(b.pnf, nameSplit[1], pnf)
}

// startRelay puts a relay between VNF and PNF that loses datagrams, also if it is to
// lose none.
func (g *gnb) startRelay(ns *topology.Namespace, one *Case) error {
	address := func(of netip.Prefix, port uint16) string { return netip.AddrPortFrom(of.Addr(), port).String() }
	return g.run(ns, nameRelay, "--as-vnf", address(vnfAddress, portAsVNF), "--vnf", address(vnfAddress, portVNFP7),
		"--as-pnf", address(vnfAddress, portAsPNF), "--pnf", address(pnfAddress, portPNFP7),
		"--loss", strconv.FormatFloat(one.Loss, 'g', -1, 64), "--seed", "1", "--json")
}

// split is what VNF and PNF must know of each other.
func (b *bed) split(one *Case) (vnf, pnf document) {
	at := func(p netip.Prefix, port uint16) netip.AddrPort { return netip.AddrPortFrom(p.Addr(), port) }
	vnf = document{
		"p5": document{"address": at(vnfAddress, portP5).String(), "network": "tcp"},
	}
	phy := document{"id": phyID, "p7": at(vnfAddress, portVNFP7).String()}
	if one.Grid {
		phy["announce"], phy["pnf_p7"] = at(vnfAddress, portAsVNF).String(), at(vnfAddress, portAsPNF).String()
	}
	vnf["pnfs"] = []document{{"name": "pnf", "from": netip.PrefixFrom(pnfAddress.Addr(), 32).String(), "phys": []document{phy}}}
	pnf = document{
		"p5":   document{"vnf": at(vnfAddress, portP5).String(), "network": "tcp"},
		"p7":   document{"address": at(pnfAddress, portPNFP7).String()},
		"phys": []document{{"id": phyID, "slot_ahead": one.SlotAhead}},
	}
	return vnf, pnf
}

// core is N3, with the session of the UE.
func (b *bed) core() document {
	s := b.session
	return document{
		"n3":       document{"address": b.top.N3.Peer.Address.Addr().String(), "upf": s.N3.String()},
		"sessions": []document{{"uplink_teid": s.ULTEID, "downlink_teid": s.DLTEID, "upf": s.N3.String()}},
	}
}

// air is the PHY, with the UE's device.
func (b *bed) air(one *Case) document {
	return document{
		"crc_failure_downlink": one.CRCFailure, "crc_failure_uplink": one.CRCFailure, "seed": 1,
		"device": document{"name": "ue", "namespace": b.ue.Name, "mtu": b.top.Config.MTU - lenTunnel},
	}
}

// lenTunnel is how many octets G-PDUs add on N3, as package gnb says.
const lenTunnel = 44

func (g *gnb) start(ns *topology.Namespace, name string, file document) error {
	text, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("split: configuration of %s: %w", name, err)
	}
	path := filepath.Join(g.dir, name+".yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	args := []string{"--config", path, "--json", "-"}
	if g.metrics {
		args = append(args, "--metrics", metricsAddress)
	}
	return g.run(ns, name, args...)
}

// run starts plumb nfapi with the command of a name.
func (g *gnb) run(ns *topology.Namespace, name string, args ...string) error {
	if g.realtime {
		args = append(args, "--realtime")
	}
	p, err := apps.StartApart(ns, append([]string{g.program, "nfapi", name}, args...)...)
	if err != nil {
		return err
	}
	g.processes = append(g.processes, &process{Process: p, name: name, ns: ns, started: time.Now()})
	return nil
}

// alive is why one of the processes runs no more.
func (g *gnb) alive() error {
	for _, p := range g.processes {
		if err := p.Exited(); err != nil {
			return err
		}
	}
	return nil
}

// words is the end of what the processes have logged.
func (g *gnb) words() error {
	var errs []error
	for _, p := range g.processes {
		errs = append(errs, fmt.Errorf("%s: %s", p.name, p.Said()))
	}
	return errors.Join(errs...)
}

// graceTime is how long a process may take to end.
const graceTime = 10 * time.Second

// end ends the processes, the PNF before its VNF, and returns what they say.
func (g *gnb) end(ctx context.Context) ([]Process, error) {
	var list []Process
	var errs []error
	for i := len(g.processes) - 1; i >= 0; i-- {
		p := g.processes[i]
		one := Process{Name: p.name, WallNS: int64(time.Since(p.started)), Mallocs: p.mallocs}
		used, err := dut.ProcessTime(p.PID())
		if err != nil {
			err = fmt.Errorf("split: processor time: %w", err)
		}
		one.CPUNS = used.Nanoseconds()
		out, endErr := p.End(ctx, graceTime)
		errs = append(errs, err, endErr)
		switch {
		case endErr != nil:
		case p.name == nameRelay:
			one.Relay = json.RawMessage(bytes.TrimSpace(out))
		default:
			var said *stopwatch.Result
			if said, err = stopwatch.Read(bytes.NewReader(out)); err == nil {
				one.Watch = said.Merged()
			}
			errs = append(errs, err)
		}
		list = append([]Process{one}, list...)
	}
	g.processes = nil
	return list, errors.Join(errs...)
}

func (g *gnb) kill() {
	for _, p := range g.processes {
		p.Kill()
	}
	g.processes = nil
}
