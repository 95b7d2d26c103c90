package xdp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// loadObjects loads the programs, over the tables that are pinned, if there are
// any that fit, and else over new ones.
func (d *Driver) loadObjects() error {
	spec, err := d.spec()
	if err != nil {
		return err
	}
	if !d.cfg.Paused { // else by Settle, when who has pinned there before us is gone
		if d.pins, err = openPins(d.cfg.Pin, d.hook, d.slots()+d.more(), d.listed()); err != nil {
			return err
		}
	}
	adopted, tables := d.pins.adopt(spec)
	defer closeMaps(adopted) // the collection has references of its own
	coll, err := loadAtOnce(spec, adopted)
	if err != nil {
		return loadError(err)
	}
	defer coll.Close() // what is not assigned
	if err := d.objs.assign(coll); err != nil {
		return loadError(err)
	}
	if err := d.hook.divert(d); err != nil {
		return err
	}
	d.adopting = tables
	if err := d.pins.pin(d.objs.shared(), adopted, tables, d.hasNAT()); err != nil {
		d.pins.giveUp(tables)
		return err
	}
	return nil
}

// hasNAT reports whether any data network has a NAT.
func (d *Driver) hasNAT() bool {
	return slices.ContainsFunc(d.cfg.N6.Networks, func(n datapath.DataNetwork) bool { return n.NAT != nil })
}

// divertXDP lets the programs find those that are for Ethernet PDU sessions, and for what
// the UPF has sent to itself.
func (d *Driver) divertXDP() error {
	if err := errors.Join(
		d.objs.AgainProgram.Put(uint32(0), d.objs.UpfAgainXdp),
		d.objs.AgainCpuProgram.Put(uint32(0), d.objs.UpfAgainCpu),
		d.objs.EtherProgram.Put(uint32(0), d.objs.UpfEtherGpduXdp),
		d.objs.EtherCpuProgram.Put(uint32(0), d.objs.UpfEtherCpu)); err != nil {
		return fmt.Errorf("xdp: programs behind others: %w", err)
	}
	return nil
}

// minListed is how many PDRs of lists there is room for at least, and
// entriesPerPDR how many entries for each on average.
const minListed, entriesPerPDR = 1024, 2

// flowCacheBits is FLOW_CACHE_BITS of bpf/maps.h.
const flowCacheBits = 12

// listed returns how many PDRs of lists there is room for.
func (d *Driver) listed() uint32 {
	if d.cfg.MaxListedPDRs > 0 {
		return uint32(d.cfg.MaxListedPDRs)
	}
	return max(d.slots()/2, minListed)
}

// spec returns the programs and tables of this configuration.
func (d *Driver) spec() (*ebpf.CollectionSpec, error) {
	spec, err := d.hook.load()
	if err != nil {
		return nil, fmt.Errorf("%s: programs: %w", d.hook.name, err)
	}
	slots, listed := d.slots(), d.listed()
	accounts := homeAccount(slots) + listed*3/4
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("xdp: number of CPUs: %w", err)
	}
	for name, n := range map[string]uint32{
		"rule_by_teid": slots + d.more(), "rule_by_ue": slots, "guest_by_teid": slots + d.more(), "guest_by_ue": slots,
		"accounts": accounts, "urr_owners": accounts, "urr_drops": accounts,
		"entries": entriesPerPDR*listed + 1, "pdrs": listed + 1, "pdr_counters": listed + 1, "framed_by_prefix": listed,
		"flows":  uint32(cpus) << flowCacheBits,
		"queues": 2*slots + d.more(),
	} {
		spec.Maps[name].MaxEntries = n
	}
	if d.hasNAT() {
		for _, name := range []string{"nat_mappings", "nat_out", "nat_in"} {
			spec.Maps[name].MaxEntries = datapath.MaxMappings + 1
		}
	}
	if d.cfg.N6.HasEthernet() {
		spec.Maps["stations"].MaxEntries = stages.MaxStations
	}
	for name, value := range map[string]any{
		"index_mask": slots - 1, "queue_max": uint32(queueMax), "passes_max": uint32(datapath.MaxPasses),
		"endpoint_ip4": d.ports.local4(), "endpoint_ip6": d.ports.local6(),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("xdp: set %s: %w", name, err)
		}
	}
	if err := errors.Join(d.setSpread(spec), d.setCutter(spec)); err != nil {
		return nil, err
	}
	for _, name := range d.hook.unused(d) {
		leaveOut(spec.Programs[name], d.hook.pass)
	}
	if !hasXSK() {
		spec.Maps["attended"].Type = ebpf.Array
	}
	if d.cfg.edit != nil {
		return spec, d.cfg.edit(spec)
	}
	return spec, nil
}

// unusedXDP returns the programs that no device of this configuration gets.
func (d *Driver) unusedXDP() []string {
	var names []string
	if !d.ports.anyTagged() {
		names = append(names, "upf_vlan_xdp")
	}
	if !d.cfg.N6.HasEthernet() {
		names = append(names, "upf_ether_xdp", "upf_ether_gpdu_xdp")
	}
	if !d.cfg.N6.HasEthernet() || len(d.cfg.Spread) == 0 {
		names = append(names, "upf_ether_cpu")
	}
	if d.cfg.programs != nil { // of a test, which runs them without devices
		if len(d.cfg.programs) == 0 {
			names = append(names, "upf_again_xdp")
		}
		for _, name := range []string{"upf_gtpu_xdp", "upf_n6_xdp", "upf_both_xdp"} {
			if !slices.Contains(d.cfg.programs, name) {
				names = append(names, name)
			}
		}
		return names
	}
	gtpu, n6 := d.ports.devices(), devicesOf(d.routed())
	both := slices.ContainsFunc(gtpu, func(p device) bool { return onDevice(n6, p.index) })
	if !both {
		names = append(names, "upf_both_xdp")
	}
	if !slices.ContainsFunc(gtpu, func(p device) bool { return !onDevice(n6, p.index) }) {
		names = append(names, "upf_gtpu_xdp")
	}
	if !slices.ContainsFunc(n6, func(p device) bool { return !onDevice(gtpu, p.index) }) {
		names = append(names, "upf_n6_xdp")
	}
	return names
}

// leaveOut makes a program that nobody needs one that passes everything, so that
// the verifier does not take its time for it.
func leaveOut(p *ebpf.ProgramSpec, pass int32) {
	p.Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()}
}

func loadError(err error) error {
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) {
		return fmt.Errorf("xdp: %w", verifier.Explain(err))
	}
	return fmt.Errorf("xdp: load programs (needs CAP_BPF and CAP_NET_ADMIN): %w", err)
}
