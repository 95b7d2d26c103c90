package afxdp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// tables are those that the programs of all devices share.
type tables struct {
	maps map[string]*ebpf.Map
	keys *keyTable
}

// sharedTables are the names of those in the program's object.
var sharedTables = []string{"ue_by_ip4", "ue_by_ip6", "ue_by_prefix", "counts", ".bss"}

// openTables makes the tables, for as many UEs as there may be sessions.
func openTables(cfg *Config) (*tables, error) {
	spec, err := loadClaim()
	if err != nil {
		return nil, fmt.Errorf("afxdp: program: %w", err)
	}
	for _, name := range sharedTables[:3] {
		spec.Maps[name].MaxEntries = uint32(cfg.MaxSessions) + minPrefixes
	}
	spec.Programs = nil
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, loadError(err)
	}
	t := &tables{maps: coll.Maps}
	t.keys = &keyTable{
		ip4: coll.Maps["ue_by_ip4"], ip6: coll.Maps["ue_by_ip6"], prefixes: coll.Maps["ue_by_prefix"],
		count: coll.Variables["prefixes"], uses: map[datapath.Key]int{},
	}
	for i := range cfg.N6.Networks {
		if nat := cfg.N6.Networks[i].NAT; nat != nil {
			for _, p := range nat.Addresses {
				if err := t.keys.use(map[datapath.Key]bool{{Route: p.Masked()}: true}); err != nil {
					return nil, errors.Join(err, t.close())
				}
			}
		}
	}
	return t, nil
}

// minPrefixes is the number of prefixes in addition to those of sessions: those of NATs.
const minPrefixes = 1024

func (t *tables) close() error {
	var errs []error
	for _, m := range t.maps {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// passed returns how many packets the programs have left to the kernel, by reason.
func (t *tables) passed() (map[datapath.Reason]uint64, error) {
	var perCPU []uint64
	all := map[datapath.Reason]uint64{}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			continue
		}
		if err := t.maps["counts"].Lookup(uint32(r), &perCPU); err != nil {
			return nil, fmt.Errorf("afxdp: counts: %w", err)
		}
		for _, n := range perCPU {
			all[r] += n
		}
	}
	return all, nil
}

// program is that of a device, attached.
type program struct {
	prog    *ebpf.Program
	sockets *ebpf.Map
	link    link.Link
}

// openProgram loads the program of a device.
func openProgram(d *device, t *tables) (*program, error) {
	spec, err := loadClaim()
	if err != nil {
		return nil, fmt.Errorf("afxdp: program: %w", err)
	}
	var endpoints [maxEndpoints]claimAddress
	count := min(len(d.locals), maxEndpoints)
	for i := range count {
		endpoints[i].Word = addressWords(d.locals[i])
	}
	for name, value := range map[string]any{
		"endpoints": endpoints, "endpoint_count": uint32(count), "is_n6": flag(d.network != 0), "is_ethernet": flag(d.ethernet),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("afxdp: set %s: %w", name, err)
		}
	}
	shared := map[string]*ebpf.Map{}
	for _, name := range sharedTables {
		shared[name] = t.maps[name]
		spec.Maps[name].MaxEntries = t.maps[name].MaxEntries()
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: shared})
	if err != nil {
		return nil, loadError(err)
	}
	defer coll.Close() // what is not taken
	return &program{prog: coll.DetachProgram("afxdp"), sockets: coll.DetachMap("socket_by_queue")}, nil
}

func flag(is bool) uint32 {
	if is {
		return 1
	}
	return 0
}

func loadError(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("afxdp: needs CAP_BPF and CAP_NET_ADMIN: %w", err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("afxdp: this kernel cannot do it: %w: %w", err, errors.ErrUnsupported)
	}
	return fmt.Errorf("afxdp: load the program: %w", verifier.Explain(err))
}

// attach puts the program on the device: in its driver, or, where that cannot, in
// front of the stack. A link of the process: the kernel takes the program off when
// the process ends, however it ends.
func (p *program) attach(d *device) error {
	modes := []struct {
		name string
		flag link.XDPAttachFlags
	}{{"native", link.XDPDriverMode}, {"generic", link.XDPGenericMode}}
	var err error
	for _, m := range modes {
		p.link, err = link.AttachXDP(link.XDPOptions{Program: p.prog, Interface: d.index, Flags: m.flag})
		if err == nil {
			d.mode = m.name
			return nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	switch {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		return fmt.Errorf("afxdp: device %s has an XDP program already (see `ip link show %s`): %w", d.name, d.name, err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("afxdp: attach to %s: needs CAP_NET_ADMIN and CAP_BPF: %w", d.name, err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("afxdp: device %s cannot do it: %w: %w", d.name, err, errors.ErrUnsupported)
	}
	return fmt.Errorf("afxdp: attach to %s with MTU %d: %w", d.name, d.mtu.Load(), err)
}

func (p *program) close() error {
	if p == nil {
		return nil
	}
	var errs []error
	if p.link != nil {
		errs = append(errs, p.link.Close())
	}
	return errors.Join(append(errs, p.sockets.Close(), p.prog.Close())...)
}

// String is what logs say of a device.
func (d *device) String() string {
	var roles []string
	if len(d.locals) > 0 {
		roles = append(roles, "GTP-U")
	}
	if d.network > 0 {
		roles = append(roles, "N6")
	}
	return d.name + " (" + strings.Join(roles, ", ") + ")"
}
