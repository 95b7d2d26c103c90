package doctor

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// TestJudge: what runs, in which order, and why the others do not.
func TestJudge(t *testing.T) {
	nic := device{name: "eth1", ethernet: true, features: netdev.Basic | netdev.Redirect | netdev.ZeroCopy, announced: true}
	veth := device{name: "v0", driver: "veth", ethernet: true, features: netdev.Basic | netdev.Redirect, announced: true}
	plain := device{name: "eth2", ethernet: true, announced: true}
	taken := nic
	taken.xdp = netlink.LinkXdp{Attached: true, ProgId: 7}
	ours := taken
	ours.program = "upf_gtpu_xdp"
	own := []string{"upf_n6_xdp", ours.program}
	other := device{name: "eth3", ethernet: true, features: nic.features, announced: true, xdp: netlink.LinkXdp{Attached: true, ProgId: 8}}
	none := errors.New("invalid argument")
	for _, tc := range []struct {
		name  string
		facts facts
		runs  string            // in this order
		found map[string]string // what is in Found> Advice
	}{
		{"a network card", facts{netAdmin: true, devices: []device{nic}}, "xdp tc afxdp tun tap p4",
			map[string]string{"xdp": "native on eth1", "tc": "tcx", "afxdp": "zero copy on eth1"}},
		{"one of two devices without native XDP", facts{netAdmin: true, devices: []device{nic, plain}}, "tc xdp afxdp tun tap p4",
			map[string]string{"xdp": "generic, which is slower: no native XDP with redirect announced by eth2", "afxdp": "copied: no zero copy announced by eth2"}},
		{"a veth whose far end has no GRO", facts{netAdmin: true, devices: []device{nic, veth}}, "tc xdp afxdp tun tap p4",
			map[string]string{"xdp": "generic, which is slower: v0: its far end takes no redirected frames"}},
		{"no tcx", facts{netAdmin: true, devices: []device{nic}, tcx: errors.New("Linux 6.1 has no tcx")}, "xdp tc afxdp tun tap p4",
			map[string]string{"tc": "clsact on eth1: Linux 6.1 has no tcx"}},
		{"another XDP program", facts{netAdmin: true, devices: []device{taken}}, "tc tun tap",
			map[string]string{"xdp": "another XDP program has eth1 (program 7)> detach it, or take tc", "afxdp": "another XDP program has eth1 (program 7)> detach"}},
		{"an XDP program of the UPF", facts{netAdmin: true, devices: []device{taken}, ours: true}, "xdp tc afxdp tun tap p4", nil},
		{"a UPF", facts{netAdmin: true, devices: []device{ours}, own: own}, "tc tun tap",
			map[string]string{"xdp": "a plumb upf has eth1 (program 7, upf_gtpu_xdp)> it runs, or has left its programs pinned: stop it first",
				"afxdp": "a plumb upf has eth1 (program 7, upf_gtpu_xdp)> it runs, or has left its programs pinned: stop it first"}},
		{"a UPF on one device, another program on the other", facts{netAdmin: true, devices: []device{ours, other}, own: own}, "tc tun tap",
			map[string]string{"xdp": "a plumb upf has eth1 (program 7, upf_gtpu_xdp); another XDP program has eth3 (program 8)> detach it, or take tc"}},
		{"this UPF, which runs", facts{netAdmin: true, devices: []device{ours}, own: own, running: "xdp"}, "xdp tc afxdp tun tap p4",
			map[string]string{"xdp": "the UPF runs with it; native on eth1> ", "afxdp": "zero copy on eth1", "tc": "tcx"}},
		{"this UPF, which runs, and another program", facts{netAdmin: true, devices: []device{ours, other}, own: own, running: "xdp"}, "tc tun tap",
			map[string]string{"xdp": "another XDP program has eth3 (program 8)> detach it, or take tc"}},
		{"a verifier that refuses", facts{netAdmin: true, devices: []device{nic}, refused: map[string]error{"xdp": errors.New("upf_n6_xdp: R3"), "tc": none}}, "afxdp tun tap p4",
			map[string]string{"xdp": "upf_n6_xdp: R3", "tc": "invalid argument"}},
		{"few capabilities", facts{netAdmin: true, missing: []string{"CAP_BPF"}, devices: []device{nic}}, "tun tap",
			map[string]string{"xdp": "not effective: CAP_BPF", "tc": "CAP_BPF", "afxdp": "CAP_BPF"}},
		{"no capabilities", facts{missing: []string{"CAP_NET_ADMIN", "CAP_BPF"}, devices: []device{nic}}, "",
			map[string]string{"tun": "CAP_NET_ADMIN", "tap": "CAP_NET_ADMIN"}},
		{"a device that is not there", facts{netAdmin: true, devices: []device{nic}, absent: []string{"eth9"}}, "tun tap",
			map[string]string{"xdp": "no device eth9", "tc": "no device eth9", "afxdp": "no device eth9"}},
		{"a device without Ethernet", facts{netAdmin: true, devices: []device{{name: "wg0"}}}, "tun tap",
			map[string]string{"xdp": "wg0 is no Ethernet device"}},
		{"an old kernel", facts{netAdmin: true, devices: []device{nic}, xdp: none}, "tc tun tap", map[string]string{"xdp": "invalid argument", "afxdp": "invalid argument"}},
		{"no AF_XDP", facts{netAdmin: true, devices: []device{nic}, xsk: none}, "xdp tc tun tap", map[string]string{"afxdp": "invalid argument"}},
		{"no TUN", facts{netAdmin: true, devices: []device{nic}, tun: errors.New("/dev/net/tun: no such file")}, "xdp tc afxdp p4",
			map[string]string{"tun": "/dev/net/tun: no such file"}},
		{"no forwarding", facts{netAdmin: true, devices: []device{nic}, still: true}, "xdp tc afxdp p4",
			map[string]string{"tun": "does not forward IPv4 packets"}},
		{"nothing is up", facts{netAdmin: true}, "tun tap", map[string]string{"xdp": "no device is up"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var runs []string
			for i, d := range judge(&tc.facts) {
				if d.Runs {
					runs = append(runs, d.Name)
				}
				if d.Runs != (d.Rank == i+1) || !d.Runs && d.Rank != 0 || d.Found == "" || !d.Runs && d.Advice == "" {
					t.Errorf("not whole: %+v", d)
				}
				if got := d.Found + "> " + d.Advice; !strings.Contains(got, tc.found[d.Name]) {
					t.Errorf("%s: found %q, want %q in it", d.Name, got, tc.found[d.Name])
				}
			}
			if got := strings.Join(runs, " "); got != tc.runs {
				t.Errorf("runs: %q, want %q", got, tc.runs)
			}
		})
	}
}

// TestDatapathsHere: on a veth pair of this machine, as root, everything runs, and
// nothing has changed.
func TestDatapathsHere(t *testing.T) {
	var all, absent []Datapath
	var left []string
	err := inScratchNamespace(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return err
		}
		all, absent = Datapaths([]string{"a", "b"}, false), Datapaths([]string{"a", "c"}, false)
		left = deviceNames(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if !d.Runs {
			t.Errorf("%s: %s", d.Name, d.Found)
		}
	}
	if len(all) != 6 || all[0].Name != "tc" || all[1].Name != "xdp" || !strings.Contains(all[1].Found, "far end") {
		t.Errorf("got %+v, want tc first, and then xdp, as neither end of the veth has GRO", all)
	}
	if i := slices.IndexFunc(absent, func(d Datapath) bool { return d.Name == "tc" }); absent[i].Runs {
		t.Errorf("without device c: got %+v", absent[i])
	}
	for _, name := range left {
		if strings.HasPrefix(name, "plumb") {
			t.Errorf("device %s is left", name)
		}
	}
}

// TestRunsHere: without a datapath that runs there is no UPF, but that no device is up is
// no reason.
func TestRunsHere(t *testing.T) {
	none := errors.New("refused")
	for _, tc := range []struct {
		name  string
		facts facts
		want  bool
	}{
		{"all of it", facts{netAdmin: true, devices: []device{{name: "eth1", ethernet: true}}}, true},
		{"no device is up", facts{netAdmin: true, still: true}, true},
		{"programs are refused", facts{still: true, refused: map[string]error{"xdp": none, "tc": none, "afxdp": none}}, false},
		{"a device that is not there", facts{still: true, absent: []string{"eth9"}}, false},
	} {
		r := &Report{Datapaths: judge(&tc.facts)}
		if got := r.runs() || tc.facts.noDevice(); got != tc.want {
			t.Errorf("%s: got %t, want %t: %+v", tc.name, got, tc.want, r.Datapaths)
		}
	}
	if got, want := (&Report{}).Summary(), "the UPF does not run here: no datapath does"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
