package upf

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"plumbline/datapath"
	"plumbline/datapath/model"
	"plumbline/session"
)

// openDatapath opens what c.Datapath names.
func openDatapath(c *Config, log *slog.Logger) (datapath.Driver, error) {
	switch c.Datapath {
	case DatapathXDP:
		return openXDP(c, log)
	case DatapathModel:
		log.Warn("datapath model carries no packets: it has no devices")
		start := time.Now()
		return model.New(model.Config{
			N3Address:   c.N3.Address,
			MaxSessions: uint64(c.Sessions.Max),
			Now:         func() uint64 { return uint64(time.Since(start)) },
		}), nil
	}
	return nil, fmt.Errorf("datapath %q: not known", c.Datapath)
}

func openXDP(c *Config, log *slog.Logger) (datapath.Driver, error) {
	return nil, unsupported("datapath xdp: not there yet")
}

func (s *Service) mode() string { return "" }

func (a *localAPI) associations(*http.Request) (any, error) {
	return Associations{Associations: []Association{}}, nil
}

func (s *Service) nodeID(*session.Session) string { return "" }

func (s *Service) logUp() {
	s.log.Info("up", "node_id", s.config.NodeID)
}

func (a *localAPI) datapath(*http.Request) (any, error) {
	c := a.driver.Capabilities()
	d := Datapath{
		Name: c.GetName(), Mode: a.mode(), MaxSessions: c.GetMaxSessions(),
		N3Device: a.config.N3.Device, N3Addresses: []netip.Addr{}, N6Device: a.config.N6.Device,
	}
	for _, n3 := range c.GetN3Ipv4() {
		d.N3Addresses = append(d.N3Addresses, addrFromUint32(n3))
	}
	return d, nil
}

func (a *localAPI) peers(*http.Request) (any, error) {
	return Peers{Peers: []Peer{}}, nil
}

func (a *localAPI) drops(*http.Request) (any, error) {
	drops, err := a.driver.Drops()
	if err != nil {
		return nil, fmt.Errorf("drops: %w", err)
	}
	d := Drops{At: time.Now(), Drops: []Drop{}}
	for _, r := range datapath.Reasons() {
		if packets, ok := drops[r.String()]; ok && r.IsDrop() {
			d.Drops = append(d.Drops, Drop{r.String(), r.Text(), packets})
		}
	}
	return d, nil
}
