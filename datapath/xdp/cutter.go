package xdp

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// cutter is the helper pair of TC (bpf/upf/split.h): what is sent to its first device the
// kernel cuts into packets, and finishes their checksums; they come on its second one.
type cutter struct {
	tx, rx device
	made   bool // not taken over
}

// Names of the devices end in the index of the first GTP-U device, which has no other UPF:
// in base 36, so that all indices leave them short enough. The second of the two suffixes
// is for a driver that is opened beside one that has the first.
const cutterIn, cutterOut = "plumbcut", "plumbwhole"

var cutterSuffixes = []string{"", "_"}

// cutterMTU lets through whatever a segment is long.
const cutterMTU = 65535

// openCutter makes the pair of a driver that has programs on devices.
func (d *Driver) openCutter() error {
	if d.hook != &onTC || d.cfg.programs != nil {
		return nil
	}
	if len(d.cfg.Spread) > 0 {
		return fmt.Errorf("tc: spreading over CPUs is XDP's: %w", errors.ErrUnsupported)
	}
	var err error
	d.cut, err = makeCutter(d.ports.gtpu[0].index, d.cfg.Paused)
	return err
}

// setCutter tells the programs of the pair, and through which devices super-packets go.
func (d *Driver) setCutter(spec *ebpf.CollectionSpec) error {
	if d.hook != &onTC {
		return nil
	}
	var devices [maxEndpoints]uint32
	if d.cfg.SuperPackets {
		for i, p := range d.ports.devices() {
			devices[i] = uint32(p.index)
		}
	}
	values := map[string]any{"super_devices": devices}
	if d.cut != nil {
		values["split_tx"], values["split_rx"] = uint32(d.cut.tx.index), uint32(d.cut.rx.index)
	}
	for name, value := range values {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("tc: set %s: %w", name, err)
		}
	}
	return nil
}

// attachCutter puts the program on the end where packets come, before any is sent there.
func (d *Driver) attachCutter() error {
	if d.cut == nil {
		return nil
	}
	if d.pins == nil {
		d.cut.made = true // one that was there is ours: nobody else has the sockets
	}
	if d.pins == nil && !d.cfg.Paused { // of a process that was killed
		for _, suffix := range cutterSuffixes[1:] {
			if err := removeDevice(cutterName(cutterIn, d.ports.gtpu[0].index, suffix)); err != nil {
				return err
			}
		}
	}
	if err := d.attach(d.objs.split, d.cut.rx); err != nil {
		return err
	}
	d.detach = append(d.detach, d.waitForCutter)
	return nil
}

// waitForCutter returns when what is on its way through the pair has come, if no program
// sends anything there any more.
func (d *Driver) waitForCutter() error {
	if d.pins == nil || !d.pins.keep {
		waitForPackets()
		time.Sleep(grace) // in the queues of CPUs
	}
	return nil
}

// closeCutter removes the pair, unless programs are left that need it.
func (d *Driver) closeCutter() error {
	if d.cut == nil || d.pins == nil && !d.cut.made || d.pins != nil && d.pins.keep && !(d.cut.made && d.pins.failed) {
		return nil
	}
	return d.cut.remove()
}

// makeCutter makes the pair, or takes over that of an earlier process. beside says that
// one that is there may have a driver that still forwards.
func makeCutter(first int, beside bool) (*cutter, error) {
	suffixes := cutterSuffixes
	if !beside {
		suffixes = suffixes[:1]
	}
	var (
		in, out string
		err     error
	)
	for _, suffix := range suffixes {
		in, out = cutterName(cutterIn, first, suffix), cutterName(cutterOut, first, suffix)
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.TxQLen = in, cutterMTU, 0
		err = netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: out, PeerMTU: cutterMTU})
		if !errors.Is(err, unix.EEXIST) {
			break
		}
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("tc: helper pair %s, %s: %w", in, out, err)
	}
	c := &cutter{made: err == nil}
	for _, end := range []struct {
		name string
		dev  *device
	}{{in, &c.tx}, {out, &c.rx}} {
		if *end.dev, err = readyCutter(end.name); err != nil {
			return nil, errors.Join(err, c.giveUp())
		}
	}
	if err := leaveNothing(in, out); err != nil {
		return nil, errors.Join(err, c.giveUp())
	}
	return c, nil
}

func cutterName(base string, first int, suffix string) string {
	return base + strconv.FormatInt(int64(first), 36) + suffix
}

// readyCutter brings one end up, which is nobody's but ours.
func readyCutter(name string) (device, error) {
	dev, err := findDevice(name)
	if err != nil {
		return dev, err
	}
	// No router solicitations there; where there is no IPv6 there are none.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	if err := netlink.LinkSetUp(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Index: dev.index}}); err != nil {
		return dev, fmt.Errorf("tc: helper pair: %s: %w", name, err)
	}
	return dev, nil
}

// leaveNothing takes from the first device all that it could leave to a receiver: then
// the kernel does it before. The second one must not put together again what was cut.
func leaveNothing(in, out string) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("tc: helper pair: %w", err)
	}
	defer tool.Close()
	features, err := tool.Features(in)
	if err != nil {
		return fmt.Errorf("tc: features of %s: %w", in, err)
	}
	off := map[string]bool{}
	for name, on := range features {
		if on && (strings.HasPrefix(name, "tx-checksum") || strings.HasPrefix(name, "tx-") && strings.HasSuffix(name, "segmentation") || name == "tx-gso-list") {
			off[name] = false
		}
	}
	if len(off) > 0 {
		if err := tool.Change(in, off); err != nil {
			return fmt.Errorf("tc: features of %s: %w", in, err)
		}
	}
	if err := tool.Change(out, map[string]bool{"rx-gro": false}); err != nil {
		return fmt.Errorf("tc: features of %s: %w", out, err)
	}
	return nil
}

// giveUp removes the pair if it was made.
func (c *cutter) giveUp() error {
	if c == nil || !c.made {
		return nil
	}
	return c.remove()
}

func (c *cutter) remove() error {
	if c == nil || c.tx.index == 0 {
		return nil
	}
	return removeDevice(c.tx.name)
}

// removeDevice removes a device, if it is there, and its peer.
func removeDevice(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return nil
	}
	if err := netlink.LinkDel(l); err != nil {
		return fmt.Errorf("tc: helper pair %s: %w", name, err)
	}
	return nil
}

// removeCutter removes the pair of which a device with this name is one.
func removeCutter(name string) error {
	if !strings.HasPrefix(name, cutterOut) {
		return nil
	}
	return removeDevice(name)
}
