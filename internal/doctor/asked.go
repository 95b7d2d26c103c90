package doctor

import (
	"slices"
	"strings"
)

// Datapaths, as checks are about them.
var (
	byXDP    = []string{"xdp", "afxdp", "p4"}
	byEBPF   = []string{"xdp", "tc", "afxdp", "p4"}
	byAFXDP  = []string{"afxdp", "p4"}
	byKernel = []string{"tun", "tap"}
	byNone   = []string{} // the laboratory, plumb gnb, plumb nfapi, what one does by hand
)

// abouts are the datapaths that a check is about. What is not in it is about every UPF.
var abouts = map[Area]map[string][]string{
	AreaRights: {
		"CAP_BPF": byEBPF, "CAP_PERFMON": byEBPF, "CAP_SYS_RESOURCE": byEBPF, "CAP_SYS_ADMIN": byNone, "locked memory": byAFXDP,
	},
	AreaKernel: {"BTF": byEBPF, "eBPF JIT": byEBPF, "bpf mounted": byEBPF, "tracefs mounted": byNone},
	AreaEBPF: {
		"XDP programs": byXDP, "redirect between devices": byXDP, "memory-mapped arrays": byEBPF, "instruction set v3": byEBPF, "ring buffer": byEBPF,
		"per-CPU arrays": byEBPF, "live frames": byNone, "AF_XDP socket maps": byAFXDP, "BTF tracepoints": {"xdp"},
	},
	AreaNetwork: {
		"namespaces and veth": byNone, "native XDP on veth": byNone, "generic XDP": byXDP, "tcx": {"tc"}, "AF_XDP": byAFXDP,
		"TUN": byKernel, "TUN TCP offload": byKernel, "TUN UDP offload": byKernel, "VLAN devices": byNone, "SCTP": byNone, "netem": byNone,
		"IPv4 forwarding": byKernel, "IPv6 forwarding": byKernel, "UDP GRO": byKernel, "UDP GSO": byKernel,
	},
}

// programsOf are the datapaths of an eBPF object; those of other commands are of none.
var programsOf = map[string][]string{
	"xdp": {"xdp"}, "tc": {"tc"}, "spread": {"xdp"}, "sent": {"xdp"}, "afxdp": byAFXDP, "afxdp-send": byAFXDP,
}

// asked reports whether a check says something about a UPF with this datapath; "": any of
// them.
func (c *Check) asked(datapath string) bool {
	about, ok := abouts[c.Area][c.Name]
	switch {
	case c.Area == AreaPrograms:
		about = programsOf[c.Name]
	case c.Area == AreaTool:
		about = byNone
	case c.Area == AreaRights && strings.HasPrefix(c.NeededFor, "eBPF maps"): // locked memory, before Linux 5.11
		about = byEBPF
	case !ok:
		return true
	}
	return len(about) > 0 && (datapath == "" || slices.Contains(about, datapath))
}
