package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// loadObjects loads the programs, over the tables that are pinned, if there are
// any that fit, and else over new ones.
func (d *Driver) loadObjects() error {
	spec, err := d.spec()
	if err != nil {
		return err
	}
	if d.pins, err = openPins(d.cfg.Pin, tableSize(d.cfg.MaxSessions)); err != nil {
		return err
	}
	adopted := d.pins.adopted(spec)
	defer closeMaps(adopted) // the collection has references of its own
	err = spec.LoadAndAssign(&d.objs, &ebpf.CollectionOptions{MapReplacements: adopted})
	if err != nil {
		return loadError(err)
	}
	if d.adopting = adopted != nil; d.adopting {
		return nil
	}
	o := &d.objs
	return d.pins.pinTables(map[string]*ebpf.Map{
		"rule_by_teid": o.RuleByTeid, "rule_by_ue": o.RuleByUe, "guest_by_teid": o.GuestByTeid, "guest_by_ue": o.GuestByUe,
		"meters": o.Meters, "urrs": o.Urrs, "urr_owners": o.UrrOwners, "urr_drops": o.UrrDrops, "hops": o.Hops,
	})
}

// spec returns the programs and tables of this configuration.
func (d *Driver) spec() (*ebpf.CollectionSpec, error) {
	spec, err := loadUpf()
	if err != nil {
		return nil, fmt.Errorf("xdp: programs: %w", err)
	}
	slots := tableSize(d.cfg.MaxSessions)
	for name, n := range map[string]uint32{
		"rule_by_teid": slots, "rule_by_ue": slots, "guest_by_teid": slots, "guest_by_ue": slots,
		"meters": 2*slots + 1, "urrs": slots + 1, "urr_owners": slots + 1, "urr_drops": slots + 1,
		"queues": 2 * slots,
	} {
		spec.Maps[name].MaxEntries = n
	}
	for name, value := range map[string]any{
		"index_mask": slots - 1, "queue_max": uint32(queueMax),
		"endpoint_ip4": d.ports.local4(), "endpoint_ip6": d.ports.local6(),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("xdp: set %s: %w", name, err)
		}
	}
	if err := d.setSpread(spec); err != nil {
		return nil, err
	}
	if !d.ports.anyTagged() {
		leaveOut(spec.Programs["upf_vlan_xdp"])
	}
	if d.cfg.edit != nil {
		return spec, d.cfg.edit(spec)
	}
	return spec, nil
}

// leaveOut makes a program that nobody needs one that passes everything, so that
// the verifier does not take its time for it.
func leaveOut(p *ebpf.ProgramSpec) {
	const pass = 2 // XDP_PASS
	p.Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()}
}

func loadError(err error) error {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return fmt.Errorf("xdp: the kernel's verifier refuses the programs: %+v: %w", verifier, errors.ErrUnsupported)
	}
	return fmt.Errorf("xdp: load programs (needs CAP_BPF and CAP_NET_ADMIN): %w", err)
}
