package slices

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
	"github.com/plumbline-upf/plumbline/probe"
)

// droppedAt is how many packets the device of each point has dropped so far behind the
// point, on the way to the UPF: a veth does where the queue of its other end is full. Of
// points where devices receive it is none, the UPF has the packet there.
func droppedAt(points []probe.Point) (map[probe.Point]uint64, error) {
	dropped := map[probe.Point]uint64{}
	for _, p := range points {
		if p.Hook != probe.Egress || p.Way != probe.In {
			continue
		}
		err := nsenter.In(p.Namespace, func() error {
			link, err := netlink.LinkByName(p.Device)
			if err == nil && link.Attrs().Statistics != nil {
				dropped[p] = link.Attrs().Statistics.TxDropped
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("counters of %s: %w", p.Device, err)
		}
	}
	return dropped, nil
}
