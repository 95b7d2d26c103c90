package mono_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/core"
	"github.com/plumbline-upf/plumbline/ran/radio/mono"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
	"github.com/plumbline-upf/plumbline/ran/radio/scheduler"
	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

// TestPrograms runs ping and iperf3 through a monolithic gNB in real time.
//
//	plt-…-mono-ue                                          plt-…-mono-dn
//	nfapi-ue 10.45.0.2 ─ UE ─ air ─ PHY ─ MAC ─ core ─ nfapi-gnb 10.45.0.1
func TestPrograms(t *testing.T) {
	for name, change := range map[string]func(*radio.Config){
		"40 MHz": func(*radio.Config) {},
		"100 MHz, 4 layers, standing grant": func(r *radio.Config) {
			r.PRBs, r.Layers, r.MCSTable, r.MCS, r.StandingGrant = 273, 4, 1, 27, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := programs.NewNamespace(t, "mono-ue"), programs.NewNamespace(t, "mono-dn")
			server := netip.MustParseAddr("10.45.0.1")
			r := seedRadio(1)
			r.UEs[0].Addresses = []netip.Addr{netip.MustParseAddr("10.45.0.2")}
			change(&r)
			run(t, r, from, to, server)
			programs.Ping(t, from, server, 56)
			programs.Ping(t, from, server, 1400)
			for _, flags := range [][]string{{"--bytes", "8M"}, {"--bytes", "16M", "--reverse"}, {"--bytes", "1M", "--udp", "--bitrate", "5M", "--length", "1200"}} {
				t.Logf("%v: %+v", flags, programs.Iperf(t, from, to, server, flags...))
			}
		})
	}
}

// run runs a gNB until the test ends.
func run(t *testing.T, r radio.Config, from, to string, server netip.Addr) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	back, err := core.Open(&core.Config{TUN: &core.TUNConfig{Namespace: to, Addresses: []netip.Addr{server}}}, &r, log)
	if err != nil {
		t.Fatal(err)
	}
	mac, err := scheduler.New(r, back, scheduler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	below, err := phy.New(r, phy.Config{Device: &ue.DeviceConfig{Name: "nfapi-ue", Namespace: from}}, log)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mono.New(mac, below, mono.Config{SlotAhead: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	slots, packets := make(chan clock.Stats, 1), make(chan error, 1)
	go func() { packets <- back.Run(ctx, mac) }()
	go func() {
		stats, err := m.Run(ctx, clock.Clock{})
		if err != nil {
			t.Error(err)
		}
		slots <- stats
	}()
	t.Cleanup(func() {
		cancel()
		t.Logf("%+v\n%+v\n%+v", <-slots, mac.Stats(), below.Stats())
		if err := <-packets; err != nil {
			t.Error(err)
		}
		if err := below.Close(); err != nil {
			t.Error(err)
		}
	})
}
