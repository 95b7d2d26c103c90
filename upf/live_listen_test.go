package upf

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/upf/store"
)

// TestCheckListen: what another process has is no place for a start, and nothing is left
// behind.
func TestCheckListen(t *testing.T) {
	dir := t.TempDir()
	own := netip.MustParseAddr("127.29.9.1")
	n4 := listenUDP(t, "127.29.9.2:8805")
	gtp := listenUDP(t, "127.29.9.3:2152")
	tcp, err := net.Listen("tcp", "127.29.9.4:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	kept := filepath.Join(dir, "kept")
	journal, err := store.OpenJournal(store.JournalConfig{Dir: kept, Sync: store.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := entries(t, dir)
	taken := func(key string, at net.Addr) string {
		return key + ": " + at.String() + ": in use: another process listens there (see ss -lnp); stop it or choose another address"
	}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nothing runs", func(*Config) {}, ""},
		{"N4", func(c *Config) { c.N4.Address = addrOf(n4) }, taken("n4.address", n4)},
		{"GTP-U", func(c *Config) { c.N3.Address = addrOf(gtp) }, taken("n3.address", gtp)},
		{"GTP-U of a model, which has none", func(c *Config) { c.Datapath, c.N3.Address = DatapathModel, addrOf(gtp) }, ""},
		{"metrics", func(c *Config) { c.Metrics.Address = tcp.Addr().(*net.TCPAddr).AddrPort() }, taken("metrics.address", tcp.Addr())},
		{"metrics and N4", func(c *Config) { c.N4.Address, c.Metrics.Address = addrOf(n4), tcp.Addr().(*net.TCPAddr).AddrPort() },
			taken("n4.address", n4) + "\n" + taken("metrics.address", tcp.Addr())},
		{"N4 at an address that is not there, which CheckLive says", func(c *Config) { c.N4.Address = netip.MustParseAddr("192.0.2.1") }, ""},
		{"metrics there", func(c *Config) { c.Metrics.Address = netip.MustParseAddrPort("192.0.2.1:9090") },
			"metrics.address: 192.0.2.1: no such address on this machine: add it to a device (ip address add) or correct the configuration"},
		{"socket in a directory to come", func(c *Config) { c.API.Socket = filepath.Join(dir, "a", "s") }, ""},
		{"socket two directories down", func(c *Config) { c.API.Socket = filepath.Join(dir, "a", "b", "s") },
			"api.socket: mkdir " + filepath.Join(dir, "a", "b") + ": no such file or directory: create the directory first"},
		{"socket that is a file", func(c *Config) { c.API.Socket = file },
			"api.socket: " + file + ": not a socket (-rw-------): in use: remove it or choose another path"},
		{"a store that is another's", func(c *Config) { c.Store.Path = kept }, "store.path: " + kept + ": " + kept + "/lock: " + store.ErrLocked.Error()},
		{"a store to come", func(c *Config) { c.Store.Path = filepath.Join(dir, "other") }, ""},
	} {
		c := Default()
		c.N4.Address, c.N3.Address = own, own
		c.Metrics.Address = netip.MustParseAddrPort("127.29.9.1:0")
		c.API.Socket = filepath.Join(dir, "upf.sock")
		tc.change(c)
		got := ""
		held, err := c.CheckListen(t.Context())
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || len(held) > 0 {
			t.Errorf("%s: held %v, -want +got\n%s", tc.name, held, diff)
		}
		if after := entries(t, dir); !slices.Equal(before, after) {
			t.Errorf("%s: left behind: %v, want %v", tc.name, after, before)
		}
	}
}

// TestCheckListenBeside: a UPF that the configuration would take the place of is no mistake;
// what somebody else has is one, still.
func TestCheckListenBeside(t *testing.T) {
	dir := t.TempDir()
	c := Default()
	c.Datapath = DatapathModel
	c.N4.Address, c.N3.Address = netip.MustParseAddr("127.29.9.5"), netip.MustParseAddr("127.29.9.5")
	c.Metrics.Address = netip.MustParseAddrPort("127.29.9.5:9090")
	c.API.Socket, c.Store.Path = filepath.Join(dir, "upf.sock"), filepath.Join(dir, "store")
	s, err := Start(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tc := range []struct {
		name   string
		change func(*Config)
		held   []string
		want   string
	}{
		{"the same", func(*Config) {}, []string{"n4.address", "metrics.address", "api.socket", "store.path"}, ""},
		{"metrics at all addresses", func(c *Config) { c.Metrics.Address = netip.MustParseAddrPort("0.0.0.0:9090") },
			[]string{"n4.address", "metrics.address", "api.socket", "store.path"}, ""},
		{"another socket", func(c *Config) { c.API.Socket += "2" }, nil, "n4.address: 127.29.9.5:8805: in use"},
		{"another UPF", func(c *Config) { c.N4.Address = netip.MustParseAddr("127.29.9.6") }, nil, "api.socket: " + c.API.Socket + ": in use"},
	} {
		other := *c
		tc.change(&other)
		held, err := other.CheckListen(t.Context())
		if diff := cmp.Diff(tc.held, held); diff != "" {
			t.Errorf("%s: held -want +got\n%s", tc.name, diff)
		}
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := NewClient(c.API.Socket).Config(t.Context()); err != nil {
		t.Errorf("the UPF that runs: %v", err)
	}
}

func listenUDP(t *testing.T, at string) net.Addr {
	t.Helper()
	l, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.LocalAddr()
}

func addrOf(a net.Addr) netip.Addr { return a.(*net.UDPAddr).AddrPort().Addr() }

// entries are the names in a directory.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
