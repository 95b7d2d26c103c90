package upf

import (
	"errors"
	"maps"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
)

// TestConflicts: what a UPF says when somebody else has what it needs, and that
// it leaves nothing behind.
func TestConflicts(t *testing.T) {
	b := newBed(t)
	for _, tc := range []struct {
		name string
		take func(*testing.T)
		want string
	}{
		{"GTP-U port", func(t *testing.T) {
			listen(t, b.UPF, netip.AddrPortFrom(b.config.N3.Address, 2152))
		}, "n3.address: 10.3.0.1:2152: in use: another process listens there (see ss -lnp); stop it or choose another address"},
		{"PFCP port", func(t *testing.T) {
			listen(t, b.UPF, netip.AddrPortFrom(b.config.N4.Address, 8805))
		}, "n4.address: 10.4.0.1:8805: in use: another process listens there (see ss -lnp); stop it or choose another address"},
		{"XDP program on N6", b.takeN6, "device n6 has an XDP program already (see `ip link show n6`)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Run("taken", func(t *testing.T) {
				tc.take(t)
				b.refuses(t, 1, tc.want)
			})
			b.checkNothingLeft(t)
		})
	}
}

// refuses runs a UPF that must not come up.
func (b *bed) refuses(t *testing.T, exitCode int, line string) {
	t.Helper()
	b.run(t)
	var exit *exec.ExitError
	if err := b.process.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitCode {
		t.Errorf("got %v, want exit code %d\n%s", err, exitCode, b.log)
	}
	if !strings.Contains(b.log.String(), line) {
		t.Errorf("got %s\nwant %s", b.log, line)
	}
}

// TestNoNativeXDP: such a device has generic XDP only. Few kernels have them all.
func TestNoNativeXDP(t *testing.T) {
	b := newBed(t)
	err := b.UPF.Do(func() error {
		attrs := netlink.LinkAttrs{Name: "virtual"}
		for _, link := range []netlink.Link{&netlink.Ifb{LinkAttrs: attrs}, &netlink.Dummy{LinkAttrs: attrs}, &netlink.Bridge{LinkAttrs: attrs}} {
			if err := netlink.LinkAdd(link); !errors.Is(err, unix.EOPNOTSUPP) {
				raise(t, attrs.Name, "10.7.0.1/24")
				return err
			}
		}
		return errors.New("the kernel has neither ifb nor dummy devices nor bridges")
	})
	if err != nil {
		t.Fatal(err)
	}
	b.config.N6.Device = "virtual"
	b.config.N6.Gateway = netip.MustParseAddr("10.7.0.2")
	b.config.XDP.Mode = ModeNative
	b.refuses(t, 3, "device virtual cannot do it (try mode generic)")
	b.checkNothingLeft(t)
}

// takeN6 puts a program on the UPF's N6 device until the end of the test.
func (b *bed) takeN6(t *testing.T) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}}) // XDP_PASS
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	attached, err := b.N6.UPF.AttachXDP(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attached.Close() })
}

// TestGeneric runs a UPF whose devices are told to have no native XDP.
func TestGeneric(t *testing.T) {
	b := newBed(t)
	b.config.XDP.Mode = ModeGeneric
	b.start(t)
	d, err := b.api.Datapath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Mode != ModeGeneric {
		t.Errorf("mode: got %q, want %q", d.Mode, ModeGeneric)
	}
	b.stop(t)
	b.checkNothingLeft(t)
}

// TestModeWithStore: a UPF that restores sessions before its programs are on the
// devices says nevertheless how they are attached, to the API and in its metrics, also
// if what it attaches stays when it ends.
func TestModeWithStore(t *testing.T) {
	for name, pin := range map[string]string{"store": "", "store and pins": filepath.Join(bpffs.New(t), "pin")} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.config.Store.Path, b.config.XDP.Pin = t.TempDir(), pin
			b.start(t)
			d, err := b.api.Datapath(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d.Mode != ModeNative {
				t.Errorf("mode: got %q, want %q", d.Mode, ModeNative)
			}
			info := b.scrape(t)["upf_device_info"]
			for _, device := range []string{b.N3.UPF.Device, b.N6.UPF.Device} {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(info)), func(labels string) bool {
					return strings.Contains(labels, "device="+device+" ") && strings.Contains(labels, " mode=native ")
				}) {
					t.Errorf("upf_device_info: %v, want one of %s with mode=native", info, device)
				}
			}
			b.stop(t)
			if pin == "" {
				b.checkNothingLeft(t)
			}
		})
	}
}
