package topology

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
)

// Config describes a test bed. Only Name must be set; [Config.withDefaults]
// says what a zero value of the others stands for.
type Config struct {
	// Name of the run: letters, digits and '-'. The namespaces are called
	// "<Name>-<process id>-gnb", "-upf" and "-dn".
	Name string

	// OnAStick puts N3 and N6 on one device of the UPF.
	OnAStick bool

	// Together puts gNB and data network into one namespace, as if one machine were
	// both: [Topology.DN] is [Topology.GNB].
	Together bool

	// Offload leaves checksums and segmentation of what the outer ends send to
	// whoever is at the UPF's: for datapaths that see packets as the kernel has
	// them, and not frames.
	Offload bool

	// MTU of every link, in octets, IP header included: 1280 to MaxMTU. Default
	// 1500.
	MTU int

	// N4 addresses of the UPF and of the control plane function, both on the
	// loopback device of the UPF's namespace. Default 10.4.0.1 and 10.4.0.2.
	N4UPF, N4SMF netip.Addr

	// N3 addresses of the gNB and the UPF. Default 10.3.0.2/24 and 10.3.0.1/24.
	N3GNB, N3UPF netip.Prefix

	// N6 addresses of the UPF and the data network. Default 10.6.0.1/24,
	// fd06::1/64 and 10.6.0.2/24, fd06::2/64.
	N6UPF, N6UPF6, N6DN, N6DN6 netip.Prefix

	// UEPools are the networks of UE addresses that the data network routes to
	// the UPF. Default 10.64.0.0/10 and fd64::/32.
	UEPools []netip.Prefix
}

// Port is one end of a [Link].
type Port struct {
	Namespace *Namespace
	Device    string // name of the device in Namespace
	Index     int    // interface index in Namespace
	Queues    int    // receive queues
	MAC       net.HardwareAddr
	Address   netip.Prefix // IPv4
	Address6  netip.Prefix // IPv6; zero on N3
}

// Link is N3 or N6: the UPF's end and the other one.
type Link struct {
	UPF  Port // of a join: the first end
	Peer Port // the gNB's end of N3, the data network's end of N6
}

// Topology is a test bed that stands.
type Topology struct {
	Config Config // as it was built, defaults filled in

	GNB, UPF *Namespace
	DN       *Namespace   // the same as GNB on a stick, or together
	UEs      []*Namespace // see [Topology.AddUE]
	N3, N6   Link         // on a stick the same devices with different addresses

	joins  []Link       // see [Topology.Join]
	others []*Namespace // see [Topology.Add]
}

// New builds the test bed that c describes. After an error nothing is left of
// it. Errors say which step failed, and on which device.
func New(c Config) (*Topology, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	t := &Topology{Config: c}
	if err := t.build(); err != nil {
		return nil, fmt.Errorf("topology: %w", errors.Join(err, t.Close()))
	}
	return t, nil
}

// AddUE adds a namespace for programs of a UE, which has no device but lo yet. It is
// called "<run>-<process id>-ue<n>", n from 0 on, and goes with the others.
func (t *Topology) AddUE(run string) (*Namespace, error) {
	ue, err := newNamespace(fmt.Sprintf("%s-%d-ue%d", run, os.Getpid(), len(t.UEs)))
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	t.UEs = append(t.UEs, ue)
	return ue, nil
}

// Add adds another namespace, "<run>-<process id>-<name>", which has no device but lo
// yet, and goes with the others. The name is of lower case letters: see [Sweep].
func (t *Topology) Add(name string) (*Namespace, error) {
	ns, err := newNamespace(fmt.Sprintf("%s-%d-%s", t.Config.Name, os.Getpid(), name))
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	t.others = append(t.others, ns)
	return ns, nil
}

// Join links two namespaces of the bed with a veth pair of a name and addresses, and
// the largest MTU that there is: for what is no wire, but stands between two
// processes.
func (t *Topology) Join(a, b *Namespace, device string, at, other netip.Prefix) error {
	number := byte(0x10 + len(t.joins))
	l := Link{
		UPF:  Port{Namespace: a, Device: device, MAC: mac(number, 1), Address: at},
		Peer: Port{Namespace: b, Device: device, MAC: mac(number, 2), Address: other},
	}
	if err := l.make(Config{MTU: joinMTU, Offload: true}); err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	t.joins = append(t.joins, l)
	for _, end := range []struct{ port, other Port }{{l.UPF, l.Peer}, {l.Peer, l.UPF}} {
		if err := errors.Join(end.port.addAddress(end.port.Address), end.port.addNeighbour(end.other)); err != nil {
			return fmt.Errorf("topology: %w", err)
		}
	}
	return nil
}

const joinMTU = 65535

// Close removes the links and the namespaces. Sockets and processes that are
// still in a namespace keep it alive, without a name or a link, until they end.
func (t *Topology) Close() error {
	errs := []error{removeLink(t.N3.UPF), removeLink(t.N6.UPF)}
	for _, l := range t.joins {
		errs = append(errs, removeLink(l.UPF))
	}
	for _, ns := range slices.Concat([]*Namespace{t.GNB, t.UPF, t.DN}, t.UEs, t.others) {
		errs = append(errs, ns.remove())
	}
	return errors.Join(errs...)
}

func (t *Topology) build() error {
	var err error
	run := fmt.Sprintf("%s-%d", t.Config.Name, os.Getpid())
	if t.GNB, err = newNamespace(run + "-gnb"); err != nil {
		return err
	}
	if t.UPF, err = newNamespace(run + "-upf"); err != nil {
		return err
	}
	t.DN = t.GNB
	if !t.Config.OnAStick && !t.Config.Together {
		if t.DN, err = newNamespace(run + "-dn"); err != nil {
			return err
		}
	}
	for _, step := range []func() error{t.configure, t.link, t.address, t.route, t.await} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.MTU == 0 {
		c.MTU = 1500
	}
	for _, a := range []struct {
		addr *netip.Addr
		def  string
	}{{&c.N4UPF, "10.4.0.1"}, {&c.N4SMF, "10.4.0.2"}} {
		if !a.addr.IsValid() {
			*a.addr = netip.MustParseAddr(a.def)
		}
	}
	for _, p := range []struct {
		prefix *netip.Prefix
		def    string
	}{
		{&c.N3GNB, "10.3.0.2/24"}, {&c.N3UPF, "10.3.0.1/24"},
		{&c.N6UPF, "10.6.0.1/24"}, {&c.N6DN, "10.6.0.2/24"},
		{&c.N6UPF6, "fd06::1/64"}, {&c.N6DN6, "fd06::2/64"},
	} {
		if !p.prefix.IsValid() {
			*p.prefix = netip.MustParsePrefix(p.def)
		}
	}
	if c.UEPools == nil {
		c.UEPools = []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10"), netip.MustParsePrefix("fd64::/32")}
	}
	return c
}

func (c Config) validate() error {
	if c.Name == "" {
		return errors.New("the run has no name")
	}
	for _, r := range c.Name {
		if !(r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return fmt.Errorf("name %q: %q is not a letter, a digit or '-'", c.Name, r)
		}
	}
	if c.MTU < minMTU || c.MTU > MaxMTU {
		return fmt.Errorf("MTU of %d octets: want %d to %d", c.MTU, minMTU, MaxMTU)
	}
	for _, p := range []netip.Prefix{c.N3GNB, c.N3UPF, c.N6UPF, c.N6DN} {
		if !p.Addr().Is4() {
			return fmt.Errorf("address %v: not IPv4", p)
		}
	}
	for _, p := range []netip.Prefix{c.N6UPF6, c.N6DN6} {
		if !p.Addr().Is6() {
			return fmt.Errorf("address %v: not IPv6", p)
		}
	}
	return nil
}

// MaxMTU is the largest MTU in octets: a live frame of the generator has a page
// less headroom, skb_shared_info and its own head, 3408 octets with the Ethernet
// header. A veth with an XDP program takes a little more.
// Source: Linux net/bpf/test_run.c.
const MaxMTU = 3394

const minMTU = 1280 // IPv6 needs it. Source: RFC 8200, 5.
