package upf

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Buffer limits what is kept of packets to UEs that are idle. What is beyond a
// limit is dropped as it comes, and counted by reason: buffer_full, buffer_total
// or buffer_age. Octets are those of memory.
type Buffer struct {
	Packets      int `yaml:"packets" json:"packets"`             // of a session; a BAR may ask for fewer
	Octets       int `yaml:"octets" json:"octets"`               // of a session
	TotalPackets int `yaml:"total_packets" json:"total_packets"` // of all sessions
	TotalOctets  int `yaml:"total_octets" json:"total_octets"`   // of all sessions
	// Duration is how long a packet is kept, MaxDuration the longest that a CP
	// function may ask for by DL Buffering Duration.
	Duration    Duration `yaml:"duration" json:"duration"`
	MaxDuration Duration `yaml:"max_duration" json:"max_duration"`
}

// What a [Buffer] may be at most.
const (
	maxBufferOctets   = 64 << 30
	maxBufferPackets  = 1 << 30
	maxBufferDuration = 24 * time.Hour
	minBufferOctets   = 128 << 10 // a packet of 65535 octets, with room to spare
)

func defaultBuffer() Buffer {
	l := stages.DefaultBufferLimits
	return Buffer{
		Packets: l.Packets, Octets: l.Octets, TotalPackets: l.TotalPackets, TotalOctets: l.TotalOctets,
		Duration: Duration(l.Age), MaxDuration: Duration(l.MaxAge),
	}
}

func (c *Config) checkBuffer(m *checks) {
	b := &c.Buffer
	number := func(key string, n, least, most int) {
		m.Want(n >= least && n <= most, "buffer."+key, n, fmt.Sprintf("%d to %d", least, most))
	}
	number("packets", b.Packets, 1, maxBufferPackets)
	number("octets", b.Octets, minBufferOctets, maxBufferOctets)
	number("total_packets", b.TotalPackets, 1, maxBufferPackets)
	number("total_octets", b.TotalOctets, minBufferOctets, maxBufferOctets)
	d, most := time.Duration(b.Duration), time.Duration(b.MaxDuration)
	m.Want(d >= time.Second && d <= maxBufferDuration, "buffer.duration", d, fmt.Sprintf("1s to %v", maxBufferDuration))
	m.Want(most >= d && most <= maxBufferDuration, "buffer.max_duration", most, fmt.Sprintf("buffer.duration to %v", maxBufferDuration))
}

// limits is b as a datapath has it.
func (b *Buffer) limits() stages.BufferLimits {
	return stages.BufferLimits{
		Packets: b.Packets, Octets: b.Octets, TotalPackets: b.TotalPackets, TotalOctets: b.TotalOctets,
		Age: time.Duration(b.Duration), MaxAge: time.Duration(b.MaxDuration),
		NoticesPerSecond: stages.DefaultBufferLimits.NoticesPerSecond,
	}
}
