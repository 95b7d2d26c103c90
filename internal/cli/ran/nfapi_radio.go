package rancmd

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
	"github.com/plumbline-upf/plumbline/ran/radio/core"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
	"github.com/plumbline-upf/plumbline/ran/radio/scheduler"
)

// nfapiGNB is what the configuration of a VNF says beside the split: the cell, and what
// is behind it.
type nfapiGNB struct {
	Radio radio.Config `yaml:"radio"`
	Core  nfapiCore    `yaml:"core"`
}

// nfapiCore is the key core. With n4 the sessions of the UEs are set up at a UPF.
type nfapiCore struct {
	core.Config `yaml:",inline"`
	N4          netip.Addr `yaml:"n4"`  // of the UPF
	SMF         netip.Addr `yaml:"smf"` // unset: that of the route to the UPF
	Dialect     gnbDialect `yaml:",inline"`
}

// validate returns all that is wrong.
func (g *nfapiGNB) validate() error {
	var m yamltext.Checks
	checkCell(&m, "radio", &g.Radio)
	m.Under("core", g.Core.Validate(&g.Radio, g.Core.N4.IsValid()))
	if g.Core.N4.IsValid() && g.Core.N3 == nil {
		m.Note("core.n4", "n4 goes with n3")
	}
	if !g.Core.N4.IsValid() && g.Core.Dialect != (gnbDialect{}) {
		m.Note("core", "dnn, n3_instance, n6_instance and interface_types are said over N4: want n4")
	}
	if err := m.Err(nil); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// checkCell notes what is wrong with a cell, also with what RRC would make of it.
func checkCell(m *yamltext.Checks, key string, r *radio.Config) {
	err := r.Validate()
	if err == nil {
		_, err = rrc.New(r)
	}
	m.Under(key, err)
}

// nfapiL2 is a gNB above its PHY: the core, and the MAC that its PHY gets.
type nfapiL2 struct {
	core core.Core
	mac  *scheduler.Scheduler
	smf  *smf // nil: sessions are somebody else's
}

// open opens the core and makes the MAC. End it with run, which has to be called.
func (g *nfapiGNB) open(ctx context.Context, log *slog.Logger) (_ *nfapiL2, err error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	l := &nfapiL2{}
	if l.core, err = g.openCore(ctx, l, log); err != nil {
		return nil, errors.Join(gnbUsage(err), l.release())
	}
	if l.mac, err = newMAC(&g.Radio, l.core); err != nil {
		l.core.Close()
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

func (g *nfapiGNB) openCore(ctx context.Context, l *nfapiL2, log *slog.Logger) (_ core.Core, err error) {
	if !g.Core.N4.IsValid() {
		return core.Open(&g.Core.Config, &g.Radio, log)
	}
	config := g.Core.GNB(&g.Radio)
	if l.smf, err = establish(ctx, g.Core.N4, g.Core.SMF, g.Core.Dialect.dialect(), &config, log); err != nil {
		return nil, err
	}
	n3, err := core.OpenN3(config, log)
	if err != nil {
		return nil, err
	}
	return n3, nil
}

// run carries packets between core and MAC until ctx ends, and closes both.
func (l *nfapiL2) run(ctx context.Context) error {
	stop := func() {}
	if n3, ok := l.core.(*core.N3); ok {
		stop = l.smf.keep(ctx, n3)
	}
	err := l.core.Run(ctx, l.mac)
	stop()
	return errors.Join(err, l.release())
}

func (l *nfapiL2) release() error {
	if l.smf == nil {
		return nil
	}
	return l.smf.close()
}

// newMAC makes the MAC of a cell; that there can be none is wrong usage.
func newMAC(c *radio.Config, core radio.Core) (*scheduler.Scheduler, error) {
	s, err := scheduler.New(*c, core, scheduler.Options{})
	if err != nil {
		return nil, cli.Usage(err)
	}
	return s, nil
}

// newNFAPIPHY makes the simulated PHY of a cell with its UEs. Their devices have the
// MTU of the core, unless they are given another.
func newNFAPIPHY(c *radio.Config, air phy.Config, mtu int, log *slog.Logger) (*phy.PHY, error) {
	if air.Device != nil && air.Device.MTU == 0 {
		device := *air.Device
		device.MTU = min(mtu, bearer.MaxPacket) // N3 may carry more, on loopback
		air.Device = &device
	}
	p, err := phy.New(*c, air, log)
	if errors.Is(err, phy.ErrConfig) || errors.Is(err, radio.ErrConfig) {
		return nil, cli.Usage(err)
	}
	return p, err
}

// newNFAPIGNB has the defaults of the keys.
func newNFAPIGNB() nfapiGNB { return nfapiGNB{Radio: radio.Default()} }

// nfapiThreads says how a gNB's process is scheduled. Threads that keep slots and those
// that wait for messages of P7 are real time anyway, if the machine allows that.
type nfapiThreads struct {
	Realtime bool `help:"Give all threads real-time priority, the lowest one; those of the slot clock and of P7 have it anyway. Fewer slots are late on a busy machine, but other programs, also those that measure, have less of its CPUs."`
}

// begin makes it so, or says why not. Call what it returns at the end.
func (t *nfapiThreads) begin(log *slog.Logger) (end func()) {
	if !t.Realtime {
		return func() {}
	}
	release, err := clock.Process()
	if err != nil {
		log.Warn("threads are ordinary ones", "reason", err)
		return func() {}
	}
	return release
}
