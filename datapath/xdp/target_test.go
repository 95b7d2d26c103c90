package xdp_test

import (
	"bytes"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestNoTarget: a veth as the kernel makes it takes no redirected frames, so packets go
// through in generic mode. It does so as well where a process before, which is gone, was
// in native mode, as the far ends had GRO then.
func TestNoTarget(t *testing.T) {
	for name, before := range map[string]bool{"start": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			n := layNetwork(t, "xdp-target")
			n.n3 = netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port)
			n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
			pin := filepath.Join(bpffs.New(t), "upf")
			var said bytes.Buffer
			open := func() (d *xdp.Driver) {
				check(t, n.UPF.Do(func() (err error) {
					d, err = xdp.New(xdp.Config{
						Endpoints: []datapath.Endpoint{{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()}},
						N6:        n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr()), MaxSessions: 64, Pin: pin, Log: slog.New(slog.NewTextHandler(&said, nil)),
					})
					return err
				}))
				return d
			}
			if before {
				d := open()
				n.wantMode(t, nl.XDP_ATTACHED_DRV)
				if strings.Contains(said.String(), "level=WARN") {
					t.Errorf("got %s, want no warning: the far ends take frames", &said)
				}
				d.Keep()
				check(t, d.Close())
				said.Reset()
			}
			for _, p := range []topology.Port{n.N3.Peer, n.N6.Peer} {
				check(t, p.Namespace.Do(func() error { return topology.SetFeatures(p.Device, map[string]bool{"rx-gro": false}) }))
			}
			n.upf = open()
			t.Cleanup(func() { check(t, n.upf.Close()) })
			n.wantMode(t, nl.XDP_ATTACHED_SKB)
			for _, want := range []string{
				`level=WARN msg="XDP runs in generic mode, which is slower"`, n.N3.UPF.Device + ": its far end takes no redirected frames",
				n.N6.UPF.Device + ": its far end", `advice="ethtool -K DEVICE gro on at the far end, or datapath tc"`,
			} {
				if got := said.String(); !strings.Contains(got, want) {
					t.Errorf("got %s, want %s in it", got, want)
				}
			}
			n.install(t, n.N3.Peer.Address.Addr())
			for _, octets := range []int{1, 1000, 1428} {
				n.uplink(t, payload(octets))
				n.downlink(t, payload(octets))
			}
		})
	}
}

// wantMode checks in which mode the programs are on both devices.
func (n *network) wantMode(t *testing.T, want uint32) {
	t.Helper()
	check(t, n.UPF.Do(func() error {
		for _, p := range []topology.Port{n.N3.UPF, n.N6.UPF} {
			l, err := netlink.LinkByIndex(p.Index)
			if err != nil {
				return err
			}
			if x := l.Attrs().Xdp; x == nil || x.AttachMode != want {
				t.Fatalf("%s: XDP %+v, want mode %d", p.Device, x, want)
			}
		}
		return nil
	}))
}

// TestRefusedFrames: what a veth loses, as its far end stopped to take redirected frames,
// is counted, and nothing else is.
func TestRefusedFrames(t *testing.T) {
	n := openNetwork(t, "xdp-refused", xdp.Auto)
	n.install(t, n.N3.Peer.Address.Addr())
	n.uplink(t, payload(100))
	n.downlink(t, payload(100))

	far := func(gro bool) {
		check(t, n.DN.Do(func() error { return topology.SetFeatures(n.N6.Peer.Device, map[string]bool{"rx-gro": gro}) }))
	}
	far(false)
	user := n.datagram(payload(100))
	message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
	const frames = 5
	for range frames {
		_, err := n.gnb.WriteToUDPAddrPort(message, n.n3)
		check(t, err)
	}
	n.waitDrops(t, "tx_refused", frames)
	n.downlink(t, payload(100)) // N3 takes them
	far(true)
	n.uplink(t, payload(100))
	drops, err := n.upf.Drops()
	check(t, err)
	if drops["tx_refused"] != frames || drops["tx_full"] != 0 {
		t.Errorf("dropped %v, want %d of tx_refused", drops, frames)
	}
}
