package tcp

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// UE is what the gNB must know of a PDU session.
type UE struct {
	Address                  netip.Addr // IPv4
	UplinkTEID, DownlinkTEID uint32
	QFI                      uint8
	// SuperPackets is that of [gnb.N3].
	SuperPackets bool
}

// Attach gives the session a UE: a TUN device in the gNB's namespace, with a route
// to the data network's end of N6. stop takes it away.
func Attach(ctx context.Context, t *topology.Topology, u UE) (stop func() error, err error) {
	var g *gnb.GNB
	err = t.GNB.Do(func() (err error) {
		g, err = gnb.New(gnb.Config{
			N3: gnb.N3{Address: t.N3.Peer.Address.Addr(), UPF: t.N3.UPF.Address.Addr(), SuperPackets: u.SuperPackets},
			UEs: []gnb.UE{{
				Name: "ue", Addresses: []netip.Addr{u.Address}, UplinkTEID: u.UplinkTEID, DownlinkTEID: u.DownlinkTEID, QFI: u.QFI,
				Routes: []netip.Prefix{netip.PrefixFrom(t.N6.Peer.Address.Addr(), 32)},
			}},
		}, slog.New(slog.DiscardHandler))
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	var runErr error
	ended.Go(func() { runErr = g.Run(ctx) })
	return func() error {
		cancel()
		ended.Wait()
		return runErr
	}, nil
}
