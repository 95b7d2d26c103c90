package xdp

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// TC: the stages on skbs, at the entry of devices (bpf/upf/upf_tc.bpf.c).

var onTC = hook{
	name: "tc", load: loadTC, loadTraced: loadTCTraced, pass: tcVerdictPass, pins: []string{tcxPrefix, filterPrefix},
	arrays: []string{"tc_programs"},
	unused: (*Driver).unusedTC, divert: (*Driver).divertTC,
	attached: (*Driver).attachedTC, attach: (*Driver).attachTC,
}

// tcVerdictPass is TC_ACT_UNSPEC: the next program is asked.
const tcVerdictPass = -1

// loadTC returns the programs of TC under the names of those of XDP. What there is of
// XDP alone stays as something that nobody runs.
func loadTC() (*ebpf.CollectionSpec, error) {
	spec, err := loadTCOwn()
	if err != nil {
		return nil, err
	}
	other, err := loadXDP()
	if err != nil {
		return nil, err
	}
	programs := map[string]*ebpf.ProgramSpec{}
	for name, p := range spec.Programs {
		programs[strings.TrimSuffix(name, "_tc")+suffixOf(name)] = p
	}
	spec.Programs = programs
	for name, p := range other.Programs {
		if spec.Programs[name] == nil {
			leaveOut(p, xdpVerdictPass)
			spec.Programs[name] = p
		}
	}
	for name, m := range other.Maps {
		if spec.Maps[name] == nil {
			spec.Maps[name] = m
		}
	}
	return spec, nil
}

// suffixOf returns that of the name under which a program of TC is found.
func suffixOf(name string) string {
	if name == splitProgram {
		return "_tc" // XDP has none
	}
	return "_xdp"
}

// splitProgram is the program of the device on which packets come that were cut.
const splitProgram = "upf_split_tc"

// How a program of TC is attached.
const modeTCX, modeClsact = "tcx", "clsact"

// unusedTC: most programs are few instructions that go on in two others.
func (d *Driver) unusedTC() []string {
	if d.cfg.N6.HasEthernet() {
		return nil
	}
	return []string{"upf_ether_xdp", "upf_ether_gpdu_xdp"}
}

// Programs to which those of TC go on: TC_* of bpf/upf_tc.bpf.c.
func (d *Driver) divertTC() error {
	for i, p := range []*ebpf.Program{d.objs.UpfEtherGpduXdp, d.objs.UpfGtpuXdp, d.objs.UpfN6Xdp, d.objs.UpfEtherXdp, d.objs.UpfAgainXdp} {
		if err := d.objs.extra["tc_programs"].Put(uint32(i), p); err != nil {
			return fmt.Errorf("tc: program %d behind others: %w", i, err)
		}
	}
	return nil
}

// attachedTC returns what an earlier process has left on the device.
func (d *Driver) attachedTC(dev device) attachment {
	if l, err := link.LoadPinnedLink(d.pins.attachment(tcxPrefix, dev.name), nil); err == nil {
		if info, err := l.Info(); err == nil && info.TCX() != nil && int(info.TCX().Ifindex) == dev.index {
			return l
		}
		_ = errors.Join(l.Unpin(), l.Close()) // of a device that went
	}
	return pinnedFilter(d.pins.attachment(filterPrefix, dev.name), dev)
}

// attachTC puts prog behind the programs that are there. Without tcx it is a filter of
// the qdisc clsact.
func (d *Driver) attachTC(prog *ebpf.Program, dev device) (attachment, string, error) {
	if !d.cfg.clsact {
		l, err := link.AttachTCX(link.TCXOptions{Program: prog, Attach: ebpf.AttachTCXIngress, Interface: dev.index})
		if err == nil {
			return l, modeTCX, nil
		}
		if !errors.Is(err, ebpf.ErrNotSupported) {
			return nil, "", fmt.Errorf("tc: attach to %s (needs CAP_NET_ADMIN and CAP_BPF): %w", dev.name, err)
		}
	}
	f, err := addFilter(prog, dev)
	if err != nil {
		return nil, "", err
	}
	return f, modeClsact, nil
}

// attachment returns the path of the pin of an attachment.
func (p *pins) attachment(prefix, device string) string { return filepath.Join(p.dir, prefix+device) }
