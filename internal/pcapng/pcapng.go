// Package pcapng writes capture files: packets of several interfaces, each with
// a direction and a comment, such as Wireshark, tshark and scapy read.
//
// The blocks are those of package pcapgo. It begins a file together with its first interface,
// so nothing is written before there is one, or the end.
package pcapng

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// LinkType says with which header the packets of an interface begin.
type LinkType = layers.LinkType

// Link types. Source: the list of link types at tcpdump.org.
const (
	Ethernet = layers.LinkTypeEthernet
	IP       = layers.LinkTypeRaw // IPv4 or IPv6
)

// Direction is that of a packet at its interface.
type Direction = pcapgo.NgEpbFlag

// Directions. Source: draft-ietf-opsawg-pcapng-04, 4.3.1.
const (
	Unknown  = pcapgo.NgEpbFlagDirectionUnknown
	Inbound  = pcapgo.NgEpbFlagDirectionInbound
	Outbound = pcapgo.NgEpbFlagDirectionOutbound
)

// Packet is one packet to write.
type Packet struct {
	Interface int       // what [Writer.Interface] returned
	At        time.Time // between 1970 and 2262
	Direction Direction
	Octets    int    // as it was
	Data      []byte // its first octets
	Comment   string // UTF-8; "": none
}

// Writer writes one section. Each packet is handed on at once. It is for one goroutine.
type Writer struct {
	to      io.Writer
	options pcapgo.NgWriterOptions
	w       *pcapgo.NgWriter // nil: there is no interface yet
}

// maxOption is how many octets the value of an option has at most.
const maxOption = 65535

// NewWriter makes a writer of a section that application writes.
func NewWriter(w io.Writer, application string) *Writer {
	return &Writer{to: w, options: pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: application}}}
}

// Interface adds an interface and returns its number. snap is how many octets of
// a packet are kept; 0: all.
func (p *Writer) Interface(name string, link LinkType, snap int) (n int, err error) {
	of := pcapgo.NgInterface{Name: name, LinkType: link, SnapLength: uint32(snap)}
	if p.w == nil {
		p.w, err = pcapgo.NewNgWriterInterface(p.to, of, p.options)
	} else {
		n, err = p.w.AddInterface(of)
	}
	if err != nil {
		return 0, fmt.Errorf("pcapng: %w", err)
	}
	return n, p.flush()
}

// Packet adds a packet.
func (p *Writer) Packet(x *Packet) error {
	if p.w == nil {
		return errNoInterface
	}
	about := gopacket.CaptureInfo{
		Timestamp: x.At, CaptureLength: len(x.Data), Length: max(x.Octets, len(x.Data)), InterfaceIndex: x.Interface,
	}
	options := pcapgo.NgPacketOptions{Flags: &pcapgo.NgEpbFlags{Direction: x.Direction}}
	if x.Comment != "" {
		options.Comments = []string{x.Comment[:min(len(x.Comment), maxOption)]}
	}
	if err := p.w.WritePacketWithOptions(about, x.Data, options); err != nil {
		return fmt.Errorf("pcapng: %w", err)
	}
	return p.flush()
}

var errNoInterface = errors.New("pcapng: there is no interface")

// Dropped says how many packets of an interface the file does not have, though it
// should.
func (p *Writer) Dropped(iface int, at time.Time, packets uint64) error {
	if p.w == nil {
		return errNoInterface
	}
	err := p.w.WriteInterfaceStats(iface, pcapgo.NgInterfaceStatistics{
		LastUpdate: at, PacketsReceived: pcapgo.NgNoValue64, PacketsDropped: packets,
	})
	if err != nil {
		return fmt.Errorf("pcapng: %w", err)
	}
	return p.flush()
}

// End makes a file that can be read of one without interfaces.
func (p *Writer) End() error {
	if p.w != nil {
		return nil
	}
	_, err := p.Interface("none", Ethernet, 0)
	return err
}

func (p *Writer) flush() error {
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("pcapng: %w", err)
	}
	return nil
}
