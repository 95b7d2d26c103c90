package xdp_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// streamOctets go each way.
const streamOctets = 48 << 20

// TestSuperPackets: TCP both ways at once between programs that leave it to the kernel
// to cut and to finish checksums. What arrives is what was sent. Where the gNB takes
// super-packets the programs meet far fewer frames than they count packets; where it
// does not, none leaves to it that is longer than the link.
func TestSuperPackets(t *testing.T) {
	for _, tc := range []struct {
		name       string
		takes      bool // the gNB takes super-packets
		on         func(xdp.Config) xdp.Config
		up, down   float64 // packets to a frame, at least
		downAtMost float64
	}{
		{"whole", true, onTC, 4, 4, 100},
		{"whole, clsact", true, onClsact, 4, 4, 100},
		{"whole, and N6 can do nothing itself", true, onTC, 4, 4, 100},
		{"cut", false, onTC, 0.9, 0.9, 1.1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := layOffloaded(t)
			if tc.name == "whole, and N6 can do nothing itself" {
				check(t, n.UPF.Do(func() error {
					return setFeatures(n.N6.UPF.Device, map[string]bool{
						"tx-checksum-ip-generic": false, "tx-tcp-segmentation": false, "tx-tcp6-segmentation": false, "tx-udp_tnl-segmentation": false,
					})
				}))
			}
			n.on = func(c xdp.Config) xdp.Config {
				c = tc.on(c)
				c.SuperPackets = tc.takes
				return c
			}
			n.start(t, "", datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
			n.install(t, n.N3.Peer.Address.Addr())
			n.startUEOf(t, tc.takes)
			n.streams(t)
			u, err := n.upf.Usage(1)
			check(t, err)
			frames := n.frames(t)
			up, down := perFrame(u.GetRules()[0], frames.RxPackets), perFrame(u.GetRules()[1], frames.TxPackets)
			t.Logf("packets to a frame on N3: %.1f up, %.1f down", up, down)
			if up < tc.up || down < tc.down || down > tc.downAtMost {
				t.Errorf("packets to a frame on N3: %.1f up, %.1f down; want at least %v and %v, and at most %v down", up, down, tc.up, tc.down, tc.downAtMost)
			}
			for i, r := range u.GetRules() {
				if r.GetOctets() < streamOctets || r.GetOctets() > streamOctets*11/10 || r.GetOctets()/r.GetPackets() > 1500 {
					t.Errorf("PDR %d has counted %v", i+1, r)
				}
			}
		})
	}
}

func perFrame(u *api.Usage, frames uint64) float64 { return float64(u.GetPackets()) / float64(frames) }

// layOffloaded is a network whose outer ends leave cutting and checksums to others.
func layOffloaded(t *testing.T) *network {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-super", Offload: true})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	n := &network{Topology: top, ue: netip.MustParseAddr("10.64.0.1")}
	n.n3 = netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port)
	return n
}

// frames returns what the UPF's device on N3 has received and sent.
func (n *network) frames(t *testing.T) (s netlink.LinkStatistics) {
	t.Helper()
	check(t, n.UPF.Do(func() error {
		l, err := netlink.LinkByName(n.N3.UPF.Device)
		if err == nil {
			s = *l.Attrs().Statistics
		}
		return err
	}))
	return s
}

// streams sends octets at random from the UE to the data network and back, and
// compares what arrives.
func (n *network) streams(t *testing.T) {
	t.Helper()
	var server net.Listener
	check(t, n.DN.Do(func() (err error) {
		server, err = net.Listen("tcp", netip.AddrPortFrom(n.N6.Peer.Address.Addr(), 0).String())
		return err
	}))
	defer server.Close()
	var near, far net.Conn
	check(t, n.GNB.Do(func() (err error) {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: n.ue.AsSlice()}}
		near, err = from.DialContext(t.Context(), "tcp", server.Addr().String())
		return err
	}))
	defer near.Close()
	far, err := server.Accept()
	check(t, err)
	defer far.Close()
	var done sync.WaitGroup
	for i, way := range [][2]net.Conn{{near, far}, {far, near}} {
		sent, got := sha256.New(), sha256.New()
		var writing sync.WaitGroup
		writing.Go(func() {
			noise := rand.NewChaCha8([32]byte{byte(i)})
			if _, err := io.CopyN(io.MultiWriter(way[0], sent), noise, streamOctets); err != nil {
				t.Error(err)
			}
		})
		done.Go(func() {
			_, err := io.CopyN(got, way[1], streamOctets)
			writing.Wait()
			if a, b := fmt.Sprintf("%x", sent.Sum(nil)), fmt.Sprintf("%x", got.Sum(nil)); err != nil || a != b {
				t.Errorf("way %d: sent octets with SHA-256 %s, got %s: %v", i, a, b, err)
			}
		})
	}
	done.Wait()
}
