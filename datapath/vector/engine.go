package vector

import (
	"log/slog"
	"net/netip"
	"time"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/model"
)

// Config says where the UPF stands.
type Config struct {
	About       *api.Capabilities // what the datapath around the engine can do; [Capabilities] is what the engine can
	Endpoints   []datapath.Endpoint
	N6          datapath.N6
	MaxSessions int
	Links       model.Links // MTUs, and the source of ICMP errors
	Buffer      model.BufferLimits
	Advertise   *model.RouterAdvertisement
	MeterBurst  time.Duration // 0: [model.DefaultBurst]
	Now         func() (ns uint64)
	Log         *slog.Logger
	// Host reports whether a user packet to an address must not be given to this
	// host: it has it.
	Host func(a netip.Addr) bool

	// Send takes what leaves of its own accord: released packets, End Markers,
	// answers to GTP-U signalling. No rule changes meanwhile. It must not call the
	// engine, nor keep the packets.
	Send func(out []*Packet)
}
