package upf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/move"
)

// prepare has the datapath do what it has put off at its start.
func prepare(d datapath.Driver, log *slog.Logger) {
	p, ok := d.(datapath.TracePreparer)
	if !ok {
		return
	}
	if err := p.PrepareTraces(); err != nil && !errors.Is(err, datapath.ErrClosed) { // else another one forwards
		log.Warn("packets cannot be traced", "error", err)
	}
}

// endOf returns what is closed when the datapath cannot go on, and why; nil: it
// always can.
func endOf(d datapath.Driver) (ended <-chan struct{}, why func() error) {
	if e, ok := d.(datapath.Failer); ok {
		return e.Ended(), e.Err
	}
	return nil, nil
}

// opening is what a datapath is opened with.
type opening struct {
	*Config
	log *slog.Logger
	// paused: it takes no packets until it is told to (datapath.Movable).
	paused bool
	quiet  *datapath.Quiet // when no Error Indication is sent
	// inherits says whether a datapath of that name is to be paused, since it goes on
	// with what another one has counted; nil: none.
	inherits func(name string) bool
}

// datapaths are those that a configuration can name, the best first, and how each
// is opened: in the network namespace of the caller, with an error that wraps
// [errors.ErrUnsupported] where this machine, kernel or device cannot do it.
var datapaths = []struct {
	name    string
	devices bool // it takes N3's and N6's devices
	open    func(opening) (datapath.Driver, error)
}{
	{DatapathXDP, true, openXDP},
	{DatapathTC, true, openTC},
	{DatapathAFXDP, true, openAFXDP},
	{DatapathTUN, false, openTUN},
	{DatapathTAP, false, openTUN},
	{DatapathP4, true, openP4},
	{DatapathModel, false, openModel},
}

// datapathNames lists what a configuration can name.
func datapathNames() []string {
	names := []string{DatapathAuto}
	for _, d := range datapaths {
		names = append(names, d.name)
	}
	return names
}

// takesDevices says whether N3 and N6 need devices: what "auto" chooses may take them.
func (c *Config) takesDevices() bool {
	for _, d := range datapaths {
		if d.name == c.Datapath {
			return d.devices
		}
	}
	return c.Datapath == DatapathAuto
}

// openDriver opens the datapath, or the way to those that are other processes.
func (s *Service) openDriver(ctx context.Context) error {
	if s.config.Role() == RoleN4 {
		var err error
		if s.driver, err = s.openAgents(ctx); err == nil {
			s.describe("configured")
		}
		return err
	}
	s.quietDown()
	if err := s.devices.watch(s); err != nil {
		return err
	}
	devices := s.devices.now()
	d, why, err := openChosen(opening{Config: s.config, log: s.log, inherits: s.inherits, quiet: &s.quiet})
	if err != nil {
		return err
	}
	s.devices.opened(devices)
	s.use(d)
	if s.mover != nil && s.inherits(d.Capabilities().GetName()) {
		if err := s.inherit(s.mover); err != nil {
			return err
		}
	}
	s.describe(why)
	if s.config.Datapath == DatapathAuto {
		s.log.Info("datapath chosen", "datapath", d.Capabilities().GetName(), "why", why)
	}
	return nil
}

// quietDown has no Error Indication sent for the restoration period: CP functions are
// about to restore sessions that are not there.
func (s *Service) quietDown() {
	if p := time.Duration(s.config.RestorationPeriod); p > 0 {
		s.quiet.Until(time.Now().Add(p))
	}
}

// use makes d the datapath, which another one may follow if it is movable.
func (s *Service) use(d datapath.Driver) {
	if m, ok := d.(datapath.Movable); ok {
		s.mover = move.New(m, s.log)
		s.driver = s.mover
		return
	}
	s.driver = d
}

// forwarder is the datapath that forwards now, for what it may tell.
func (s *Service) forwarder() datapath.Driver {
	if s.mover == nil {
		return s.driver
	}
	d, _ := s.mover.Current()
	return d
}

// totals is what the rules of each slice counted; nil: the datapath does not say.
func (s *Service) totals() []datapath.SliceTotal {
	if t, ok := s.driver.(datapath.SliceReporter); ok {
		return t.SliceTotals()
	}
	return nil
}

// openDatapath opens what o.Datapath names, which is not DatapathAuto.
func openDatapath(o opening) (datapath.Driver, error) {
	o.paused = o.paused || o.inherits != nil && o.inherits(o.Datapath)
	for _, d := range datapaths {
		if d.name == o.Datapath {
			return d.open(o)
		}
	}
	return nil, fmt.Errorf("datapath %q: not known", o.Datapath)
}

// endpoints returns where GTP-U is terminated: N3, and what is beside it.
func endpoints(c *Config) []datapath.Endpoint {
	all := []datapath.Endpoint{{
		Name: "N3", Device: c.N3.Device, Address: c.N3.Address, Address6: c.N3.Address6, VLAN: uint16(c.N3.VLAN),
		NetworkInstances: c.N3.NetworkInstances, InterfaceTypes: interfaceTypes(c.N3.InterfaceTypes),
	}}
	if len(c.GTPU) > 0 {
		all[0].Interfaces = []api.Interface{api.Interface_ACCESS}
	}
	for i := range c.GTPU {
		all = append(all, c.GTPU[i].endpoint())
	}
	return all
}

// endpoint is g as a datapath knows it.
func (g *GTPU) endpoint() datapath.Endpoint {
	e := datapath.Endpoint{
		Name: g.Name, Device: g.Device, Address: g.Address, Address6: g.Address6, VLAN: uint16(g.VLAN),
		NetworkInstances: g.NetworkInstances, InterfaceTypes: interfaceTypes(g.InterfaceTypes),
	}
	switch g.Interface {
	case InterfaceAccess:
		e.Interfaces = []api.Interface{api.Interface_ACCESS}
	case InterfaceCore:
		e.Interfaces = []api.Interface{api.Interface_CORE, api.Interface_SGI_LAN}
	}
	return e
}

// describe notes what forwards packets from now on, and why.
func (s *Service) describe(why string) {
	about := describeDatapath(s.config, s.forwarder())
	about.Why, about.Since = why, time.Now()
	if s.mover != nil {
		_, about.Since = s.mover.Current()
	}
	s.about.Store(&about)
}

// tablesOctets is the memory of a datapath's tables now; 0: not known.
func tablesOctets(d datapath.Driver) uint64 {
	if m, ok := d.(datapath.MemoryReporter); ok {
		return m.MemoryOctets()
	}
	return 0
}

// TablesOctets is the memory of the datapath's tables that are not in the heap of this
// process; 0: none, or not known.
func (s *Service) TablesOctets() uint64 {
	d := s.forwarder()
	switch d.Capabilities().GetName() {
	case DatapathTUN, DatapathTAP:
		return 0
	}
	return tablesOctets(d)
}

// describeDatapath says what forwards packets.
func describeDatapath(c *Config, d datapath.Driver) Datapath {
	capabilities := d.Capabilities()
	about := Datapath{
		Name: capabilities.GetName(), MaxSessions: capabilities.GetMaxSessions(),
		N3Addresses: []netip.Addr{}, Devices: []Device{},
	}
	for _, a := range capabilities.GetN3Ipv4() {
		about.N3Addresses = append(about.N3Addresses, addrFromUint32(a))
	}
	about.MemoryOctets = tablesOctets(d)
	if about.Name != DatapathModel && c.N3.Device != "" && c.N6.Device != "" {
		about.Devices = append(about.Devices, describeDevice("N3", c.N3.Device), describeDevice("N6", c.N6.Device))
		for _, g := range c.GTPU {
			about.Devices = append(about.Devices, describeDevice(g.Name, g.Device))
		}
		for _, n := range c.DataNetworks {
			about.Devices = append(about.Devices, describeDevice(n.Name, n.Device))
		}
		tellCopies(about.Devices, d)
		about.Mode = about.Devices[0].Mode
		if about.Devices[1].Mode != about.Mode {
			about.Mode += "+" + about.Devices[1].Mode
		}
	}
	return about
}

// tellCopies adds to the mode of each device whether the datapath copies its frames, if
// it is one to say so.
func tellCopies(devices []Device, d datapath.Driver) {
	t, ok := d.(datapath.CopyReporter)
	if !ok {
		return
	}
	text := ", copied"
	if t.ZeroCopy() {
		text = ", zero copy"
	}
	for i := range devices {
		if devices[i].Mode != "" {
			devices[i].Mode += text
		}
	}
}

// describeDevice asks the kernel about a device of the datapath.
func describeDevice(reference, name string) Device {
	d := Device{Interface: reference, Name: name}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return d // it went away since it was attached
	}
	d.MTU = link.Attrs().MTU
	if x := link.Attrs().Xdp; x != nil {
		d.Mode = map[uint32]string{nl.XDP_ATTACHED_DRV: ModeNative, nl.XDP_ATTACHED_SKB: ModeGeneric}[x.AttachMode]
	}
	return d
}

// addrFromUint32 is the address whose first octet is the most significant one
// of a, as package api has it.
func addrFromUint32(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}
