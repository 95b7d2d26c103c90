package split

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf"
)

// bed is the namespaces, the UPF, and the UE's session there.
type bed struct {
	top     *topology.Topology
	ue, pnf *topology.Namespace
	upf     *dut.Instance
	n4      *n4load.Client
	session n4load.Session
}

// The link between PNF and VNF.
const fronthaul = "nfapi"

var (
	vnfAddress = netip.MustParsePrefix("10.5.0.1/24")
	pnfAddress = netip.MustParsePrefix("10.5.0.2/24")
)

// qfi of the UE's QoS flow.
const qfi = 9

// newBed builds everything but the gNB. After an error nothing is left.
func newBed(ctx context.Context, c *Config) (_ *bed, err error) {
	b := &bed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	swept, err := topology.Sweep(c.Name) // what a process that was killed has left
	if err != nil {
		return nil, err
	}
	if len(swept) > 0 && c.OnSwept != nil {
		c.OnSwept(swept)
	}
	kind := dut.Plumbline(c.Datapath, func(u *upf.Config) { u.TC.SuperPackets = true })
	kind.Path = c.Program
	if b.top, err = topology.New(topology.Config{Name: c.Name, Offload: kind.Offloads}); err != nil {
		return nil, err
	}
	if b.ue, err = b.top.Add("ue"); err != nil {
		return nil, err
	}
	if b.pnf, err = b.top.Add("pnf"); err != nil {
		return nil, err
	}
	if err = b.top.Join(b.top.GNB, b.pnf, fronthaul, vnfAddress, pnfAddress); err != nil {
		return nil, err
	}
	place := dut.At(b.top)
	place.Log = c.Log
	if b.upf, err = dut.Start(ctx, kind, place); err != nil {
		return nil, err
	}
	if err = b.establish(ctx); err != nil {
		return nil, fmt.Errorf("%w; the end of the UPF's log:\n%s", err, b.upf.Log())
	}
	return b, nil
}

// establish makes the session of the UE over PFCP.
func (b *bed) establish(ctx context.Context) error {
	c := b.top.Config
	err := b.top.UPF.Do(func() (err error) {
		b.n4, err = n4load.Dial(n4load.Config{Local: netip.AddrPortFrom(c.N4SMF, pfcp.Port), Remote: netip.AddrPortFrom(c.N4UPF, pfcp.Port)})
		return err
	})
	if err != nil {
		return err
	}
	if _, err := b.n4.Associate(ctx); err != nil {
		return err
	}
	t, err := b.upf.Template()
	if err != nil {
		return err
	}
	t.QFI = qfi
	sessions := t.Sessions(0, 1)
	if _, err := b.n4.Establish(ctx, &t, sessions); err != nil {
		return err
	}
	b.session = sessions[0]
	return nil
}

// ports of iperf3, a new one for each: one of before may still be in TIME_WAIT.
const firstPort = 5201

func (b *bed) place(port uint16, realtime bool) apps.Place {
	return apps.Place{
		UE: b.ue, DN: b.top.DN, UEAddress: b.session.UE, DNAddress: b.top.N6.Peer.Address.Addr(), ServerPort: port, Realtime: realtime,
	}
}

func (b *bed) close() error {
	var errs []error
	if b.n4 != nil {
		errs = append(errs, b.n4.Close())
	}
	if b.upf != nil {
		errs = append(errs, b.upf.Stop())
	}
	if b.top != nil {
		errs = append(errs, b.top.Close())
	}
	return errors.Join(errs...)
}
