package slices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// bed is a UPF between UEs of some slices and a data network, with sessions.
type bed struct {
	name    string // of the UPF, in results
	slices  []int  // indexes in all
	top     *topology.Topology
	upf     *dut.Instance
	n4      *n4load.Group
	ues     []gnb.UE         // of slices, in their order
	session []n4load.Session // of ues
	others  *n4load.Population
	gnb     *gnb.GNB
	stop    func() error // of the gNB
}

const (
	firstOther = 16   // number of the first session that has no UE
	others     = 64   // sessions that are modified
	n4Window   = 1024 // requests in flight, at most

	releaseTime = 10 * time.Second
)

// newBed builds everything for some slices. After an error nothing is left.
func newBed(ctx context.Context, c *Config, kind dut.Kind, name string, of []int) (_ *bed, err error) {
	b := &bed{name: name, slices: of}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	run := c.Name + "-" + name
	if kind.External {
		b.top, err = topology.NewExternal(*c.External)
	} else {
		b.top, err = topology.New(topology.Config{Name: run, Offload: kind.Offloads})
	}
	if err != nil {
		return nil, err
	}
	place := dut.At(b.top)
	place.Sessions = firstOther + others
	if b.upf, err = dut.Start(ctx, kind, place); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{b.associate, b.establish, b.fill} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("%w; the end of the UPF's log:\n%s", err, b.upf.Log())
		}
	}
	if kind.External {
		if err := b.routed(); err != nil {
			return nil, err
		}
	}
	return b, b.startGNB(run)
}

// routed is an error if what the data network's programs send to UEs would not leave by
// the device that leads to an external UPF.
func (b *bed) routed() error {
	ue, n6 := b.ues[0].Addresses[0], &b.top.N6
	return b.top.DN.Do(func() error {
		routes, err := netlink.RouteGet(ue.AsSlice())
		if err == nil && len(routes) > 0 && routes[0].LinkIndex == n6.Peer.Index {
			return nil
		}
		return fmt.Errorf("this machine has no route to UEs (%v) over %s: ip route add %v via %v",
			ue, n6.Peer.Device, b.top.Config.UEPools[0], n6.UPF.Address.Addr())
	})
}

func (b *bed) associate(ctx context.Context) error {
	c := b.top.Config
	err := b.top.UPF.Do(func() (err error) {
		b.n4, err = n4load.DialGroup(n4load.Options{Spin: n4load.DefaultSpin}, n4load.Config{
			Local: netip.AddrPortFrom(c.N4SMF, pfcp.Port), Remote: netip.AddrPortFrom(c.N4UPF, pfcp.Port), Window: n4Window,
		})
		return err
	})
	if err != nil {
		return err
	}
	_, err = b.n4.Clients()[0].Associate(ctx)
	return err
}

// template is what sessions of a slice have in common.
func (b *bed) template(s *slice) (n4load.Template, error) {
	t, err := b.upf.Template()
	if err != nil {
		return t, err
	}
	t.QFI, t.SNSSAI = pfcp.QFI(s.qfi), pfcp.Some(s.snssai())
	if t.Dialect.DNN == "" || b.upf.Kind.AnyDNN {
		t.DNN = s.dnn
	}
	return t, t.Validate()
}

// establish makes the session of each slice's UE.
func (b *bed) establish(ctx context.Context) error {
	for i, number := range b.slices {
		t, err := b.template(&all[number])
		if err != nil {
			return err
		}
		sessions := t.Sessions(i, 1)
		if _, err := b.n4.Clients()[0].Establish(ctx, &t, sessions); err != nil {
			return err
		}
		s := sessions[0]
		b.session = append(b.session, s)
		b.ues = append(b.ues, gnb.UE{
			Name: "ue", QFI: uint8(t.QFI), Addresses: []netip.Addr{s.UE}, UplinkTEID: s.ULTEID, UPF: s.N3, DownlinkTEID: s.DLTEID,
		})
	}
	return nil
}

// fill establishes the sessions that are modified. They have no UE, so that no packet
// is lost by that.
func (b *bed) fill(ctx context.Context) error {
	t, err := b.template(&all[b.slices[0]])
	if err != nil {
		return err
	}
	window := n4load.DefaultWindow
	if t.Dialect.Window > 0 {
		window = t.Dialect.Window
	}
	b.others = n4load.NewPopulationOf(&t, t.Sessions(firstOther, others), window, b.n4)
	_, err = b.others.Fill(ctx, others, nil)
	return err
}

// startGNB gives each UE a namespace of its own.
func (b *bed) startGNB(run string) error {
	for i := range b.ues {
		ns, err := b.top.AddUE(run)
		if err != nil {
			return err
		}
		b.ues[i].Namespace = ns.Name
	}
	n3 := gnb.N3{Address: b.top.N3.Peer.Address.Addr(), Namespace: b.top.GNB.Name}
	g, err := gnb.New(gnb.Config{N3: n3, UEs: b.ues}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	b.gnb, b.stop = g, func() error {
		cancel()
		return <-ended
	}
	return nil
}

// place is where the programs of the i-th slice of the bed run.
func (b *bed) place(i int, port uint16) apps.Place {
	return apps.Place{
		UE: b.top.UEs[i], DN: b.top.DN, UEAddress: b.ues[i].Addresses[0], DNAddress: b.top.N6.Peer.Address.Addr(), ServerPort: port,
	}
}

// alive is why the UPF runs no more.
func (b *bed) alive() error {
	if err := b.upf.Err(); err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	return nil
}

// close ends everything.
func (b *bed) close() error {
	var errs []error
	if b.stop != nil {
		errs = append(errs, b.stop())
	}
	if b.n4 != nil {
		errs = append(errs, b.release(), b.n4.Close())
	}
	if b.upf != nil {
		errs = append(errs, b.upf.Stop())
	}
	if b.top != nil {
		errs = append(errs, b.top.Close())
	}
	return errors.Join(errs...)
}

// release makes an external UPF delete all sessions. Any other is stopped.
func (b *bed) release() error {
	if !b.upf.Kind.External {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	return b.n4.Clients()[0].Release(ctx)
}

// system is all beds of a UPF.
type system []*bed

// newSystem builds them.
func newSystem(ctx context.Context, c *Config, kind dut.Kind) (system, error) {
	if c.One || kind.External {
		every := make([]int, numSlices)
		for i := range every {
			every[i] = i
		}
		b, err := newBed(ctx, c, kind, "upf", every)
		if err != nil {
			return nil, err
		}
		return system{b}, nil
	}
	var s system
	for i := range all {
		b, err := newBed(ctx, c, kind, all[i].short, []int{i})
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s = append(s, b)
	}
	return s, nil
}

// of is the bed of a slice, and its place there.
func (s system) of(number int) (*bed, int) {
	for _, b := range s {
		for i, has := range b.slices {
			if has == number {
				return b, i
			}
		}
	}
	panic("slices: a slice without a bed")
}

func (s system) alive() error {
	for _, b := range s {
		if err := b.alive(); err != nil {
			return err
		}
	}
	return nil
}

func (s system) close() error {
	var errs []error
	for _, b := range s {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}
