package xdp_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// etherUE is a host behind an Ethernet PDU session: a kernel in a namespace of its
// own with a TAP device.
//
//	tap ◄─► the test as UE and gNB ◄─ GTP-U ─► UPF ◄─ lan0 ── lan1 ─► host
type etherUE struct {
	tap *os.File
	do  chan func()
}

// newEtherUE makes a host with an address like "192.168.77.11/24".
func newEtherUE(t *testing.T, address string) *etherUE {
	t.Helper()
	u := &etherUE{do: make(chan func())}
	made := make(chan error)
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
		err := u.make(address)
		made <- err
		for f := range u.do {
			f()
		}
	})
	t.Cleanup(func() {
		close(u.do)
		done.Wait()
		if u.tap != nil {
			check(t, u.tap.Close())
		}
	})
	check(t, <-made)
	return u
}

func (u *etherUE) make(address string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := silence(); err != nil {
		return err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	request, err := unix.NewIfreq("tap0")
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	u.tap = os.NewFile(uintptr(fd), "tap0")
	tap, err := netlink.LinkByName("tap0")
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	return errors.Join(netlink.AddrAdd(tap, addr), netlink.LinkSetUp(tap))
}

// silence lets the kernel of the namespace send nothing of its own accord.
func silence() error {
	for _, name := range []string{"all", "default"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0); err != nil {
			return err
		}
	}
	return nil
}

// ping lets the host ping another one.
func (u *etherUE) ping(t *testing.T, to string, count int) {
	t.Helper()
	result := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	u.do <- func() {
		out, err := exec.CommandContext(ctx, "ping", "-n", "-q", "-c", fmt.Sprint(count), "-i", "0.01", to).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ping %s: %w\n%s", to, err, out)
		}
		go func() { result <- err }()
	}
	check(t, <-result)
}

// carryFrames is the gNB of the UEs, by number: uplink F-TEIDs from ulTEID on,
// downlink ones from dlTEID on.
func (n *network) carryFrames(t *testing.T, ues ...*etherUE) {
	t.Helper()
	for i, u := range ues {
		go func() {
			frame := make([]byte, 2048)
			for {
				size, err := u.tap.Read(frame)
				if err != nil {
					return
				}
				g := append(gtpu.AppendGPDU(nil, ulTEID+uint32(i), gtpu.PDUTypeUplink, 9, size), frame[:size]...)
				_, _ = n.gnb.WriteToUDPAddrPort(g, n.n3) // ping says what is lost
			}
		}()
	}
	check(t, n.gnb.SetReadDeadline(time.Time{}))
	go func() {
		b := make([]byte, 2048)
		for {
			size, err := n.gnb.Read(b)
			if err != nil {
				return
			}
			if h, err := gtpu.Parse(b[:size]); err == nil && h.Type() == 255 && int(h.TEID()-dlTEID) < len(ues) {
				_, _ = ues[h.TEID()-dlTEID].tap.Write(b[len(h):size])
			}
		}
	}()
}

// TestEthernetPing: hosts behind two Ethernet PDU sessions and one of the data
// network reach each other, whose kernels resolve their addresses by ARP; once the
// bridge has learnt of them the slow path sees no frame any more.
func TestEthernetPing(t *testing.T) {
	n := layNetwork(t, "xdp-eping")
	n.layLAN(t)
	n.startLAN(t)
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	check(t, n.DN.Do(silence))
	var ues []*etherUE
	for i := range uint32(2) {
		n.installFrames(t, uint64(i)+1, ulTEID+i, dlTEID+i)
		ues = append(ues, newEtherUE(t, fmt.Sprintf("192.168.77.%d/24", 11+i)))
	}
	n.carryFrames(t, ues...)
	pings := func(count int) {
		ues[0].ping(t, "192.168.77.2", count)
		ues[1].ping(t, "192.168.77.2", count)
		ues[0].ping(t, "192.168.77.12", count)
	}
	pings(2)
	before := n.slowly(t)
	pings(20)
	if after := n.slowly(t); after != before {
		passes, _ := n.upf.Passes()
		t.Errorf("%d frames went through the slow path after all was learnt: %v", after-before, passes)
	}
	usage, err := n.upf.Usage(1)
	check(t, err)
	if up := usage.GetRules()[0].GetPackets(); up < 2*22 {
		t.Errorf("%d frames of the first UE were counted, want at least %d", up, 2*22)
	}
}

// slowly is how many frames the programs have handed on.
func (n *network) slowly(t *testing.T) uint64 {
	t.Helper()
	passes, err := n.upf.Passes()
	check(t, err)
	var sum uint64
	for reason, count := range passes {
		if reason != datapath.PassHost.String() {
			sum += count
		}
	}
	return sum
}

// startLAN starts the UPF with the Ethernet data network "lan" on lan0.
func (n *network) startLAN(t *testing.T) {
	t.Helper()
	n6 := n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr())
	n6.Networks[0].NetworkInstances = []string{"internet"}
	n6.Networks = append(n6.Networks, datapath.DataNetwork{Name: "lan", NetworkInstances: []string{"lan"}, Device: "lan0", Ethernet: true})
	n.startOn(t, xdp.Native, n6, datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
	n.n3 = netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port)
}

// installFrames installs an Ethernet PDU session.
func (n *network) installFrames(t *testing.T, seid uint64, up, down uint32) {
	t.Helper()
	outer := toward(n.N3.Peer.Address.Addr())
	outer.Teid = down
	s := &api.Session{Seid: seid, PduType: api.PDUType_ETHERNET, Rules: []*api.Rule{
		{
			PdrId: 1, OuterHeaderRemoval: true,
			Detect:  &api.Detect{FTeid: &api.FTEID{Teid: up, Ipv4: number(n.N3.UPF.Address.Addr())}},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: "lan"},
		}, {
			PdrId: 2, QerIds: []uint32{1},
			Detect:  &api.Detect{SourceInterface: api.Interface_CORE, EthernetSession: true, NetworkInstance: "lan"},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS, OuterHeaderCreation: outer},
		},
	}, Qers: []*api.QER{{Id: 1, Qfi: 9}}}
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: seid, Session: s}))
}
