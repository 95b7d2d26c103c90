package impair

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Count counts the datagrams of one message type in one direction by result. Received plus
// Duplicated equals Sent, Lost, SegmentsLost, Overflow and those that wait.
type Count struct {
	Direction string `json:"direction"`
	Message   string `json:"message"`

	Received     uint64 `json:"received"`
	Sent         uint64 `json:"sent"`
	Lost         uint64 `json:"lost"`
	SegmentsLost uint64 `json:"segments_lost"`
	Duplicated   uint64 `json:"duplicated"`
	Reordered    uint64 `json:"reordered"`
	Delayed      uint64 `json:"delayed"`
	Flipped      uint64 `json:"flipped"`
	Rewritten    uint64 `json:"rewritten"` // SFN or times were changed
	Overflow     uint64 `json:"overflow"`  // lost against our will: too many waited

	id nfapi.MessageID
	d  Direction
}

type class struct {
	d  Direction
	id nfapi.MessageID
}

// maxClasses is how many types of messages are counted apart, of those that P7 does not
// have.
const maxClasses = 64

func (x *Box) count(d Direction, id nfapi.MessageID) *Count {
	c := x.counts[class{d, id}]
	if c == nil && len(x.counts) >= maxClasses {
		id = Other
		c = x.counts[class{d, id}]
	}
	if c == nil {
		c = &Count{Direction: d.String(), Message: id.String(), id: id, d: d}
		if id == Other {
			c.Message = "other"
		}
		x.counts[class{d, id}] = c
	}
	return c
}

// Counts are the results of all datagrams so far, by direction and message.
func (x *Box) Counts() []Count {
	var list []Count
	for _, c := range x.counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.id, b.id)) })
	return list
}

// Waiting is how many datagrams wait.
func (x *Box) Waiting() int { return len(x.queue.list) }

// Result is what a relay did.
type Result struct {
	Counts    []Count `json:"counts"`
	Strangers uint64  `json:"strangers"` // datagrams that came from neither VNF nor PNF
	NotSent   uint64  `json:"not_sent"`  // that the kernel refused
	Waiting   int     `json:"waiting"`   // that had not been sent at the end
}

// Print writes it as a table.
func (r *Result) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "direction\tmessage\treceived\tsent\tlost\tsegments lost\tduplicated\treordered\tdelayed\tflipped\trewritten\t")
	for _, c := range r.Counts {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", c.Direction, c.Message, c.Received, c.Sent, c.Lost, c.SegmentsLost,
			c.Duplicated, c.Reordered, c.Delayed, c.Flipped, c.Rewritten)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	overflow := uint64(0)
	for _, c := range r.Counts {
		overflow += c.Overflow
	}
	if overflow+r.Strangers+r.NotSent > 0 {
		_, err := fmt.Fprintf(w, "beside that: %d lost because too many waited, %d of strangers, %d that the kernel refused\n", overflow, r.Strangers, r.NotSent)
		return err
	}
	return nil
}
