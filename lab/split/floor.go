package split

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/ran/radio/floor"
)

// floorText says what the floor is.
var floorText = fmt.Sprintf("what TDD pattern, grants, k1, k2 and slots ahead take alone, over all instants at which a ping may begin; a PHY of radio adds %.2f ms",
	floor.Processing.Seconds()*1e3)

// floorOf is the least round trip of a case. The simulated PHY takes no time, so none is
// added for it.
func floorOf(c *Case) (*Floor, error) {
	rtt, err := floor.Ping(&c.Radio, c.SlotAhead, 0)
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	return &Floor{MinNS: int64(rtt.Min), MeanNS: int64(rtt.Mean), MaxNS: int64(rtt.Max)}, nil
}
