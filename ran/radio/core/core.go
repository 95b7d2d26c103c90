// Package core is the network side of a gNB's MAC: N3 to any UPF, or a TUN device with this machine
// as the data network.
//
//	MAC ─ Uplink, Flush ─► [N3] ─ GTP-U ─► UPF          MAC ─► [TUN] ─► kernel
//	MAC ◄ Downlink ─────── [N3] ◄ GTP-U ── UPF          MAC ◄─ [TUN] ◄─ kernel
//
// Uplink packets are held until the MAC reports the end of the slot, and are sent together.
package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("core: configuration")

// Config says where the packets of the cell's UEs go: N3 or TUN, one of them.
type Config struct {
	N3 *gnb.N3 `yaml:"n3"`
	// Sessions are the tunnels of the UEs on N3, in the order of [radio.Config.UEs].
	Sessions []Session  `yaml:"sessions"`
	TUN      *TUNConfig `yaml:"tun"`
}

// Session is the tunnel of a UE's PDU session.
type Session struct {
	UplinkTEID   uint32     `yaml:"uplink_teid"`   // of the UPF's F-TEID
	DownlinkTEID uint32     `yaml:"downlink_teid"` // of the gNB's
	UPF          netip.Addr `yaml:"upf"`           // unset: that of N3
}

// Core is a core with its sockets or device.
type Core interface {
	radio.Core
	// Run gives the MAC packets until ctx ends, and then closes the core. It can be
	// called once.
	Run(ctx context.Context, to radio.Downlink) error
	// MTU is how many octets a UE's packet may have.
	MTU() int
	// Close closes a core that is not run.
	Close()
}

// Validate returns all that makes c no core of a cell, in an error that wraps [ErrConfig].
// With n4 the UPF's F-TEIDs are still to come, over N4.
func (c *Config) Validate(cell *radio.Config, n4 bool) error {
	var m yamltext.Checks
	switch {
	case c.N3 == nil && c.TUN == nil:
		m.Note("", "neither n3 nor tun is given: want one of them")
	case c.N3 != nil && c.TUN != nil:
		m.Note("", "n3 and tun are both given: want one of them")
	}
	if c.N3 != nil {
		c.checkN3(&m, cell, n4)
	}
	if c.TUN != nil {
		c.TUN.check(&m, cell)
		if c.N3 == nil && len(c.Sessions) > 0 {
			m.Note("sessions", "tun has no sessions")
		}
	}
	return m.Err(ErrConfig)
}

// checkN3 is what the gNB on N3 would refuse, in the words of c, but not what is wrong with
// the UEs of the cell.
func (c *Config) checkN3(m *yamltext.Checks, cell *radio.Config, n4 bool) {
	n := len(c.Sessions)
	if n != len(cell.UEs) && (n > 0 || !n4) {
		m.Note("sessions", "%d sessions for %d ues: want one for each, or none and sessions that are set up over N4", n, len(cell.UEs))
	}
	var wrong *yamltext.ConfigError
	if !errors.As(c.GNB(cell).Validate(n4), &wrong) {
		return
	}
	for _, one := range wrong.Mistakes {
		rest, of, ue := strings.Cut(one.Key, "].")
		switch {
		case !ue:
			m.Note(one.Key, "%s", one.Text)
		case slices.Contains([]string{"uplink_teid", "downlink_teid", "upf"}, of) && n == len(cell.UEs):
			m.Note(strings.Replace(rest, "ues", "sessions", 1)+"]."+of, "%s", one.Text)
		}
	}
}

// GNB is the configuration of the gNB on N3 for the UEs of a cell. Missing TEIDs must be filled in;
// those of the gNB are then 1, 2 and so on.
//
// Precondition: c.N3 is set.
func (c *Config) GNB(cell *radio.Config) gnb.Config {
	config := gnb.Config{N3: *c.N3}
	for i, u := range cell.UEs {
		ue := gnb.UE{Name: fmt.Sprintf("ue%d", i), Addresses: u.Addresses, QFI: u.QFI, DownlinkTEID: uint32(1 + i)}
		if i < len(c.Sessions) {
			s := c.Sessions[i]
			ue.UplinkTEID, ue.DownlinkTEID, ue.UPF = s.UplinkTEID, s.DownlinkTEID, s.UPF
		}
		config.UEs = append(config.UEs, ue)
	}
	return config
}

// Open opens the core of a cell.
func Open(c *Config, cell *radio.Config, log *slog.Logger) (Core, error) {
	if err := c.Validate(cell, false); err != nil {
		return nil, err
	}
	if c.TUN != nil {
		tun, err := OpenTUN(*c.TUN, cell)
		if err != nil {
			return nil, err
		}
		return tun, nil
	}
	n3, err := OpenN3(c.GNB(cell), log)
	if err != nil {
		return nil, err
	}
	return n3, nil
}
