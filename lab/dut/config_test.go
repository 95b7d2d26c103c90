package dut

import (
	"flag"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

var update = flag.Bool("update", false, "write the golden files anew")

// place is one that no test bed has: no address is as by default anywhere.
func place() Place {
	mac := func(last byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, last} }
	return Place{
		N4UPF: netip.MustParseAddr("192.0.2.9"), N4SMF: netip.MustParseAddr("192.0.2.14"),
		N3: topology.Link{
			UPF:  topology.Port{Device: "ens3", MAC: mac(1), Address: netip.MustParsePrefix("198.51.100.1/26")},
			Peer: topology.Port{MAC: mac(2), Address: netip.MustParsePrefix("198.51.100.2/26")},
		},
		N6: topology.Link{
			UPF: topology.Port{
				Device: "ens6", MAC: mac(3), Address: netip.MustParsePrefix("203.0.113.1/27"), Address6: netip.MustParsePrefix("2001:db8:6::1/64"),
			},
			Peer: topology.Port{MAC: mac(4), Address: netip.MustParsePrefix("203.0.113.2/27"), Address6: netip.MustParsePrefix("2001:db8:6::2/64")},
		},
		UEPools: []netip.Prefix{netip.MustParsePrefix("10.60.0.0/12"), netip.MustParsePrefix("2001:db8:60::/48")},
		MTU:     2000, CPUs: []int{1}, Sessions: 100_000,
	}
}

// TestConfiguration compares all files that are written for others' programs with
// testdata; go test -update writes those.
func TestConfiguration(t *testing.T) {
	for _, k := range others() {
		if k.External {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			p := place()
			plan, err := k.Plan(&p, "/run/dut")
			if err != nil {
				t.Fatal(err)
			}
			if plan.Files[plan.Show] == "" || len(k.Install) == 0 || len(k.Tested) == 0 || len(k.Title) == 0 {
				t.Errorf("shows %q of %d files, installed by %q, tested %q", plan.Show, len(plan.Files), k.Install, k.Tested)
			}
			files := map[string]string{"command line": strings.Join(plan.Args, " ") + "\n"}
			for name, text := range plan.Files {
				files[name] = text
			}
			for name, got := range files {
				golden := filepath.Join("testdata", k.Name, strings.ReplaceAll(name, " ", "_"))
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s: -want +got:\n%s", name, diff)
				}
			}
		})
	}
}

// TestTemplate wants sessions as each kind needs them.
func TestTemplate(t *testing.T) {
	p := place()
	for _, k := range Kinds() {
		got, err := k.Template(&p)
		if err != nil || got.Validate() != nil {
			t.Errorf("%s: %v, %v", k.Name, err, got.Validate())
		}
		if got.UE != netip.MustParseAddr("10.48.0.1") || got.GNB != p.N3.Peer.Address.Addr() || (got.ULTEID != 0) != k.Dialect.CPFTEID {
			t.Errorf("%s: UE %v, gNB %v, uplink TEID %#x", k.Name, got.UE, got.GNB, got.ULTEID)
		}
	}
	for name, spoil := range map[string]func(*Place){
		"no pool of IPv4": func(p *Place) { p.UEPools = p.UEPools[1:] },
		"no gNB":          func(p *Place) { p.N3.Peer = topology.Port{} },
	} {
		p := place()
		spoil(&p)
		if got, err := open5gsTUN.Template(&p); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestLastAddr(t *testing.T) {
	for in, want := range map[string]string{"10.64.0.0/10": "10.127.255.254", "10.0.0.5/30": "10.0.0.6", "fd64::/64": "fd64::ffff:ffff:ffff:fffe"} {
		if got := lastAddr(netip.MustParsePrefix(in)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: got %v, want %s", in, got, want)
		}
	}
}

func TestCommon(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{
		{"10.4.0.1", "10.4.0.2", "10.4.0.0/30"}, {"192.0.2.9", "192.0.2.14", "192.0.2.8/29"}, {"1.0.0.1", "129.0.0.1", "0.0.0.0/0"},
	} {
		if got := common(netip.MustParseAddr(tc.a), netip.MustParseAddr(tc.b)); got != netip.MustParsePrefix(tc.want) {
			t.Errorf("%s, %s: got %v, want %s", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestHasSocket(t *testing.T) {
	table := procfs.NetIPSocket{
		{LocalAddr: net.IPv4(10, 4, 0, 1).To4(), LocalPort: 8805}, {LocalAddr: net.IPv4zero.To4(), LocalPort: 2152},
		{LocalAddr: net.IPv6zero, LocalPort: 2153}, // may be of IPv6 only
	}
	for in, want := range map[string]bool{"10.4.0.1:8805": true, "10.4.0.2:8805": false, "10.3.0.1:2152": true, "10.4.0.1:2153": false} {
		if got := hasSocket(table, netip.MustParseAddrPort(in)); got != want {
			t.Errorf("%s: got %v, want %v", in, got, want)
		}
	}
}
