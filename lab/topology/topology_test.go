package topology

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

func build(t *testing.T, c Config) *Topology {
	t.Helper()
	bed, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// TestReach exchanges a datagram between neighbours, and from the data network
// to a UE address, which must come out at the UPF's end of N6.
func TestReach(t *testing.T) {
	for _, form := range []struct {
		name     string
		onAStick bool
	}{{"two devices", false}, {"on a stick", true}} {
		t.Run(form.name, func(t *testing.T) {
			bed := build(t, Config{Name: "plt-reach", OnAStick: form.onAStick})
			for _, tc := range []struct {
				name     string
				from, to *Namespace
				addr     netip.Addr
			}{
				{"gNB to UPF", bed.GNB, bed.UPF, bed.N3.UPF.Address.Addr()},
				{"UPF to gNB", bed.UPF, bed.GNB, bed.N3.Peer.Address.Addr()},
				{"UPF to DN", bed.UPF, bed.DN, bed.N6.Peer.Address.Addr()},
				{"DN to UPF, IPv6", bed.DN, bed.UPF, bed.N6.UPF.Address6.Addr()},
				{"SMF to UPF", bed.UPF, bed.UPF, bed.Config.N4UPF},
			} {
				t.Run(tc.name, func(t *testing.T) { exchange(t, tc.from, tc.to, tc.addr) })
			}
		})
	}
}

func exchange(t *testing.T, from, to *Namespace, addr netip.Addr) {
	t.Helper()
	var server, client *net.UDPConn
	local := net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 2152))
	err := errors.Join(
		to.Do(func() (err error) { server, err = net.ListenUDP("udp", local); return err }),
		from.Do(func() (err error) { client, err = net.DialUDP("udp", nil, local); return err }))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer client.Close()
	if _, err := client.Write([]byte("plumb")); err != nil {
		t.Fatal(err)
	}
	server.SetReadDeadline(time.Now().Add(30 * time.Second))
	got := make([]byte, 16)
	n, err := server.Read(got)
	if err != nil || string(got[:n]) != "plumb" {
		t.Errorf("got %q, %v, want \"plumb\"", got[:n], err)
	}
}

// TestRoute sends to a UE: the datagram must arrive at the UPF, which answers
// for an address of the pool that the test puts on its loopback.
func TestRoute(t *testing.T) {
	bed := build(t, Config{Name: "plt-route"})
	ue := netip.MustParsePrefix("10.64.0.1/32")
	if err := (Port{Namespace: bed.UPF, Device: "lo"}).addAddress(ue); err != nil {
		t.Fatal(err)
	}
	exchange(t, bed.DN, bed.UPF, ue.Addr())
}

func TestDevices(t *testing.T) {
	bed := build(t, Config{Name: "plt-devices", MTU: 2000})
	for _, tc := range []struct {
		port       Port
		mac        string
		txChecksum bool
	}{
		{bed.N3.UPF, "02:00:00:00:03:01", true},
		{bed.N3.Peer, "02:00:00:00:03:02", false},
		{bed.N6.UPF, "02:00:00:00:06:01", true},
		{bed.N6.Peer, "02:00:00:00:06:02", false},
	} {
		err := tc.port.Namespace.Do(func() error {
			dev, err := net.InterfaceByName(tc.port.Device)
			if err != nil {
				return err
			}
			if dev.HardwareAddr.String() != tc.mac || dev.MTU != 2000 || dev.Index != tc.port.Index {
				t.Errorf("got %v, MTU %d, index %d, want %s, 2000, %d", dev.HardwareAddr, dev.MTU, dev.Index, tc.mac, tc.port.Index)
			}
			tool, err := ethtool.NewEthtool()
			if err != nil {
				return err
			}
			defer tool.Close()
			features, err := tool.Features(tc.port.Device)
			if err == nil && (features["tx-checksum-ip-generic"] != tc.txChecksum || !features["rx-gro"]) {
				t.Errorf("%s of %s: tx-checksum %v, GRO %v, want %v, true", tc.port.Device, tc.port.Namespace.Name,
					features["tx-checksum-ip-generic"], features["rx-gro"], tc.txChecksum)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestThreaded(t *testing.T) {
	bed := build(t, Config{Name: "plt-threaded"})
	for _, on := range []bool{true, false} {
		if err := bed.SetThreaded(on); err != nil {
			t.Fatal(err)
		}
		for _, p := range []Port{bed.N3.UPF, bed.N6.UPF} {
			value := make([]byte, 1)
			err := p.Namespace.openSysfs("class/net/"+p.Device+"/threaded", unix.O_RDONLY, func(fd int) error {
				_, err := unix.Read(fd, value)
				return err
			})
			if got := value[0] == '1'; err != nil || got != on {
				t.Errorf("%s: got threaded %v, %v, want %v", p.Device, got, err, on)
			}
		}
	}
	if err := bed.UPF.writeSysfs("class/net/n9/threaded", "1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device that is not there: got %v, want %v", err, os.ErrNotExist)
	}
}

func TestClose(t *testing.T) {
	bed := build(t, Config{Name: "plt-close"})
	names := []string{bed.GNB.Path(), bed.UPF.Path(), bed.DN.Path()}
	if err := bed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after Close: got %v, want %v", name, err, os.ErrNotExist)
		}
	}
}

// TestFailure builds a second bed of the same name: it must fail and leave the
// first as it was.
func TestFailure(t *testing.T) {
	bed := build(t, Config{Name: "plt-failure"})
	if _, err := New(Config{Name: "plt-failure"}); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v, want %v", err, os.ErrExist)
	}
	exchange(t, bed.GNB, bed.UPF, bed.N3.UPF.Address.Addr())
	_, err := New(Config{Name: "plt-halfway", UEPools: []netip.Prefix{netip.MustParsePrefix("10.6.0.0/24")}, N6DN: netip.MustParsePrefix("10.6.9.2/32")})
	if err == nil {
		t.Error("a route over an unreachable gateway was accepted")
	}
	left, _ := os.ReadDir(namedDir)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "plt-halfway-") {
			t.Errorf("%s is left after a failure", e.Name())
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   Config
		want string
	}{
		{"no name", Config{}, "the run has no name"},
		{"path in name", Config{Name: "a/b"}, `name "a/b": '/' is not a letter, a digit or '-'`},
		{"MTU too small", Config{Name: "a", MTU: 1000}, "MTU of 1000 octets: want 1280 to 3394"},
		{"IPv6 on N3", Config{Name: "a", N3UPF: netip.MustParsePrefix("fd03::1/64")}, "address fd03::1/64: not IPv4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(tc.in)
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	stale := "plt-sweep-" + strconv.Itoa(dead.Process.Pid) + "-gnb"
	added := "plt-sweep-" + strconv.Itoa(dead.Process.Pid) + "-pnf" // by Add
	for _, name := range []string{stale, added} {
		if err := nsenter.OnThread(func() error { h, err := netns.NewNamed(name); h.Close(); return err }); err != nil {
			t.Fatal(err)
		}
	}
	unmounted := "plt-sweep-" + strconv.Itoa(dead.Process.Pid) + "-upf" // died between making the file and the mount
	if err := os.WriteFile(namedDir+"/"+unmounted, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	bed := build(t, Config{Name: "plt-sweep"})
	swept, err := Sweep("plt-sweep")
	if want := []string{stale, added, unmounted}; err != nil || !slices.Equal(swept, want) {
		t.Errorf("got %v, %v, want %v", swept, err, want)
	}
	exchange(t, bed.GNB, bed.UPF, bed.N3.UPF.Address.Addr())
}
