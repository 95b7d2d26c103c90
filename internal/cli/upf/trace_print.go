package upfcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/pcapng"
	"github.com/plumbline-upf/plumbline/upf"
)

// traceLine tells of a packet in one line.
func traceLine(p *upf.TracePacket) string {
	words := []string{p.At.Local().Format("15:04:05.000000"), direction(p), dash(p.UE)}
	if p.TEID != 0 {
		words = append(words, "TEID "+p.TEID.String())
	}
	if p.PDR != 0 {
		words = append(words, fmt.Sprintf("PDR %d", p.PDR))
	}
	words = append(words, fmt.Sprintf("%d octets", p.Octets))
	if p.Flow != "" {
		words = append(words, p.Flow)
	}
	return strings.Join(words, "  ") + "  " + verdict(p)
}

// direction is UL, DL, or -- if no PDR says so.
func direction(p *upf.TracePacket) string {
	switch p.Direction {
	case "uplink":
		return "UL"
	case "downlink":
		return "DL"
	}
	return "--"
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// verdict says what became of a packet, and why.
func verdict(p *upf.TracePacket) string {
	text := p.Verdict
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	if p.Left != nil {
		text += " by " + p.Left.Device
	}
	if p.Text != "" {
		text += ": " + p.Text
	}
	if p.Place != "program" {
		text += " [" + p.Place + "]"
	}
	return text
}

// capture writes frames into a capture file: as they came and as they left, each
// at an interface of its device: Ethernet frames, or IP packets, as the datapath sees
// them. Packets of the slow path have interfaces of their own; as they came they were
// seen already, so they are written again only if nothing left.
type capture struct {
	w          *pcapng.Writer
	file       *os.File // nil: not ours to close
	snap       int
	interfaces map[captureInterface]int
}

type captureInterface struct {
	device string
	ip     bool
}

func newCapture(w io.Writer, snap int) *capture {
	return &capture{w: pcapng.NewWriter(w, "plumb trace"), snap: snap, interfaces: map[captureInterface]int{}}
}

// packet implements traceSink. The comment is one line as for people and one for
// each stage.
func (c *capture) packet(p *upf.TracePacket) error {
	comment := traceLine(p) + "\n" + strings.Join(p.Stages, "\n") + "\n"
	if p.Arrived != nil && (p.Place == "program" || p.Left == nil) {
		if err := c.frame(p, p.Arrived, p.At, pcapng.Inbound, comment); err != nil {
			return err
		}
	}
	if p.Left == nil {
		return nil
	}
	return c.frame(p, p.Left, p.At.Add(time.Duration(p.TookNs)), pcapng.Outbound, comment)
}

func (c *capture) frame(p *upf.TracePacket, f *upf.TraceFrame, at time.Time, d pcapng.Direction, comment string) error {
	key := captureInterface{f.Device, f.IP}
	if f.IP && p.Place != "program" {
		key.device += " (slow path)"
	}
	n, ok := c.interfaces[key]
	if !ok {
		link := pcapng.Ethernet
		if f.IP {
			link = pcapng.IP
		}
		var err error
		if n, err = c.w.Interface(key.device, link, c.snap); err != nil {
			return err
		}
		c.interfaces[key] = n
	}
	return c.w.Packet(&pcapng.Packet{Interface: n, At: at, Direction: d, Octets: f.Octets, Data: f.Data, Comment: comment})
}

// end implements traceSink: what is missing is said at the first interface.
func (c *capture) end(counts datapath.TraceCounts) error {
	if missing := counts.Limited + counts.Lost; missing > 0 && len(c.interfaces) > 0 {
		if err := c.w.Dropped(0, time.Now(), missing); err != nil {
			return err
		}
	}
	err := c.w.End()
	if c.file != nil {
		err = errors.Join(err, c.file.Close())
	}
	return err
}
