package xdp_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// space is a network namespace of a test, beside those of the topology.
type space struct {
	path   string
	handle netns.NsHandle
}

// newSpace makes a namespace with its loopback up, which goes with the test.
func newSpace(t *testing.T, name string, sysctls ...string) space {
	t.Helper()
	name = fmt.Sprintf("plt-%s-%d", name, os.Getpid())
	s := space{path: "/run/netns/" + name}
	check(t, onThread(func() (err error) {
		if s.handle, err = netns.NewNamed(name); err != nil {
			return err
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	}))
	t.Cleanup(func() { check(t, netns.DeleteNamed(name)); check(t, s.handle.Close()) })
	check(t, s.do(func() error { return setSysctls(append(sysctls, quiet...)) }))
	return s
}

// quiet keeps IPv6 from talking by itself.
var quiet = []string{"ipv6/conf/default/addr_gen_mode=1", "ipv6/conf/default/router_solicitations=0", "ipv4/conf/all/rp_filter=0"}

func setSysctls(settings []string) error {
	for _, setting := range settings {
		for i := range setting {
			if setting[i] == '=' {
				if err := os.WriteFile("/proc/sys/net/"+setting[:i], []byte(setting[i+1:]), 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// do runs f on a thread in the namespace; what f opens stays there.
func (s space) do(f func() error) error {
	return onThread(func() error {
		if err := netns.Set(s.handle); err != nil {
			return err
		}
		return f()
	})
}

// inSpace is the namespace of a topology as a space.
func inSpace(t *testing.T, path string) space {
	t.Helper()
	h, err := netns.GetFromPath(path)
	check(t, err)
	t.Cleanup(func() { check(t, h.Close()) })
	return space{path, h}
}

// end is one end of a veth pair.
type end struct {
	in     space
	device string
	mac    string
	at     []string // addresses with their prefix lengths
}

// connect makes a veth pair between two namespaces, whose ends know each other if
// both have addresses. The far end leaves no checksum for others to compute: XDP
// would see frames without.
func connect(t *testing.T, near, far end) {
	t.Helper()
	check(t, near.in.do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.HardwareAddr = near.device, hardware(near.mac)
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: attrs, PeerName: far.device, PeerHardwareAddr: hardware(far.mac), PeerNamespace: netlink.NsFd(far.in.handle),
		})
	}))
	// As an end comes up the kernel looks at the other's GRO, to see whether XDP may
	// redirect frames to it.
	check(t, near.in.do(func() error { return near.features(map[string]bool{"rx-gro": true}) }))
	check(t, far.in.do(func() error { return far.features(map[string]bool{"rx-gro": true, "tx-checksum-ip-generic": false}) }))
	check(t, near.in.do(func() error { return near.raise(far) }))
	check(t, far.in.do(func() error { return far.raise(near) }))
}

func hardware(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		return nil
	}
	return mac
}

func (e end) features(features map[string]bool) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer tool.Close()
	return tool.Change(e.device, features)
}

// raise gives an end its addresses, brings it up and introduces the other one.
func (e end) raise(other end) error {
	link, err := netlink.LinkByName(e.device)
	if err != nil {
		return err
	}
	for _, a := range e.at {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		if addr.IP.To4() == nil {
			addr.Flags = 2 // IFA_F_NODAD: nobody else is on the link
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return err
		}
	}
	if err := netlink.LinkSetUp(link); err != nil || len(e.at) == 0 {
		return err
	}
	for _, a := range other.at {
		err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, HardwareAddr: hardware(other.mac),
			IP: netip.MustParsePrefix(a).Addr().AsSlice(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// route leads a prefix to a neighbour, in the namespace of the caller.
func route(prefix, via string) error {
	p := netip.MustParsePrefix(prefix)
	return netlink.RouteReplace(&netlink.Route{
		Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}, Gw: netip.MustParseAddr(via).AsSlice(),
	})
}

// run runs a program in the namespace and returns what it printed.
func (s space) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + s.path}, args...)...).CombinedOutput()
	return string(out), err
}

// phones are UEs with TUN devices behind a gNB.
type phones struct {
	gnb    *gnb.GNB
	spaces []space
	ues    []gnb.UE
}

// phoneAddress is that of a UE, by number.
func phoneAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 64, 0, byte(i + 1)}) }

func phonePrefix(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 0x64, 7: byte(i + 1), 15: 1})
}

// startPhones makes UEs, each in a namespace of its own, on a gNB for which N3 has
// an MTU. Their sessions are made with those data networks, "" for any.
func (n *network) startPhones(t *testing.T, mtu int, instances ...string) *phones {
	t.Helper()
	p := &phones{}
	for i, instance := range instances {
		p.spaces = append(p.spaces, newSpace(t, fmt.Sprintf("%s-ue%d", filepath.Base(n.UPF.Path()), i)))
		p.ues = append(p.ues, gnb.UE{
			Name: "ue", Namespace: p.spaces[i].path, QFI: 9, UplinkTEID: 0x100 + uint32(i), DownlinkTEID: 0x200 + uint32(i),
			Addresses: []netip.Addr{phoneAddress(i), phonePrefix(i)},
		})
		check(t, n.upf.Apply(context.Background(), &api.Change{Seid: uint64(100 + i), Session: n.phoneSession(i, instance)}))
	}
	var err error
	p.gnb, err = gnb.New(gnb.Config{
		N3:  gnb.N3{Address: n.N3.Peer.Address.Addr(), UPF: n.N3.UPF.Address.Addr(), Namespace: n.GNB.Path(), MTU: mtu},
		UEs: p.ues,
	}, slog.New(slog.DiscardHandler))
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- p.gnb.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-done)
		if t.Failed() {
			drops, _ := n.upf.Drops()
			passes, _ := n.upf.Passes()
			t.Logf("drops %v, passes %v", drops, passes)
		}
	})
	return p
}

// phoneSession is that of a UE: both addresses, both ways.
func (n *network) phoneSession(i int, instance string) *api.Session {
	prefix := phonePrefix(i).As16()
	ue := &api.UEAddress{Ipv4: number(phoneAddress(i)), Ipv6Prefix: be64(prefix[:])}
	return &api.Session{Seid: uint64(100 + i), Rules: []*api.Rule{
		{
			PdrId: 1, OuterHeaderRemoval: true,
			Detect: &api.Detect{FTeid: &api.FTEID{Teid: 0x100 + uint32(i), Ipv4: number(n.N3.UPF.Address.Addr())}, UeAddress: ue},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: instance,
			},
		},
		{
			PdrId: 2, QerIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue, NetworkInstance: instance},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x200 + uint32(i), Ipv4: number(n.N3.Peer.Address.Addr())},
			},
		},
	}, Qers: []*api.QER{{Id: 1, Qfi: 9}}}
}

func be64(b []byte) (v uint64) {
	for _, octet := range b[:8] {
		v = v<<8 | uint64(octet)
	}
	return v
}

// site is an HTTP server that gives one content, takes others and answers with
// their SHA-256, and says in a header whom it sees.
func (s space) site(t *testing.T, content []byte) {
	t.Helper()
	var l net.Listener
	check(t, s.do(func() (err error) {
		l, err = net.Listen("tcp", ":80")
		return err
	}))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-From", r.RemoteAddr)
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
			return
		}
		h := sha256.New()
		_, _ = io.Copy(h, r.Body)
		fmt.Fprintf(w, "%x", h.Sum(nil))
	})}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
}

// curl gets the content of a site and puts it there. It returns the error, and
// whom the site saw.
func (s space) curl(t *testing.T, at string, content []byte) (from netip.AddrPort, err error) {
	t.Helper()
	dir := t.TempDir()
	put, got, header := filepath.Join(dir, "put"), filepath.Join(dir, "got"), filepath.Join(dir, "header")
	check(t, os.WriteFile(put, content, 0o600))
	flags := []string{"curl", "--silent", "--show-error", "--fail", "--max-time", "30", "--noproxy", "*"}
	out, err := s.run(t, append(flags, "--dump-header", header, "--output", got, "http://"+at+"/")...)
	if err != nil {
		return from, fmt.Errorf("curl %s: %w: %s", at, err, out)
	}
	octets, err := os.ReadFile(got)
	check(t, err)
	if sha256.Sum256(octets) != sha256.Sum256(content) {
		return from, fmt.Errorf("curl %s: got %d octets, not the %d of the site", at, len(octets), len(content))
	}
	out, err = s.run(t, append(flags, "--upload-file", put, "http://"+at+"/")...)
	if want := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || out != want {
		return from, fmt.Errorf("curl --upload-file %s: %w: %q, want SHA-256 %s", at, err, out, want)
	}
	text, err := os.ReadFile(header)
	check(t, err)
	return seen(string(text)), nil
}

// random is content that is the same for a seed.
func random(seed byte, octets int) []byte {
	b := make([]byte, octets)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // never fails
	return b
}

// startUPF makes the UPF of a network with these data networks.
func (n *network) startUPF(t *testing.T, pin string, networks ...datapath.DataNetwork) *xdp.Driver {
	t.Helper()
	var d *xdp.Driver
	check(t, n.UPF.Do(func() (err error) {
		d, err = xdp.New(xdp.Config{
			Endpoints: []datapath.Endpoint{{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()}},
			N6:        datapath.N6{Networks: networks}, Mode: xdp.Native, MaxSessions: 64, Pin: pin, Log: slog.New(slog.DiscardHandler),
		})
		return err
	}))
	return d
}

// onThread runs f on a thread that ends with it, or is where it was.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}
