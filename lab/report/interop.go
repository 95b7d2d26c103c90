package report

import (
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

// InteropSchema names the version of the form of an [Interop]. The rules are those of
// [Schema].
const InteropSchema = "plumbline.interop/1"

// Outcome is what packets said about a step.
type Outcome string

// The outcomes.
const (
	Pass      Outcome = "pass"
	Fail      Outcome = "fail"
	NotTried  Outcome = "not tried"
	NotJudged Outcome = "not judged" // was tried, and nothing says what is right
)

// Interop is what packets did at each step of a walk through a core with a UPF in it.
type Interop struct {
	Schema  string        `json:"schema"`
	Started time.Time     `json:"started"`
	Host    Host          `json:"host"`
	UEs     []InteropUE   `json:"ues"`
	Steps   []InteropStep `json:"steps"`
}

// InteropUE is the device that stands for a UE.
type InteropUE struct {
	Name      string   `json:"name"`                // in the steps
	Namespace string   `json:"namespace,omitempty"` // empty: that of the command
	Device    string   `json:"device"`
	MTU       int      `json:"mtu"`
	Addresses []string `json:"addresses"`
}

// InteropStep is a step, of one UE and one IP version where it has them.
type InteropStep struct {
	Step      string           `json:"step"`
	UE        string           `json:"ue,omitempty"`
	IPVersion int              `json:"ip_version,omitempty"`
	Result    Outcome          `json:"result"`
	Seen      string           `json:"seen"` // or why it was not tried
	Command   *InteropCommand  `json:"command,omitempty"`
	Echo      *InteropEcho     `json:"echo,omitempty"`
	Transfer  *InteropTransfer `json:"transfer,omitempty"`
	UPF       *InteropUPF      `json:"upf,omitempty"` // of a step that failed
}

// InteropCommand is a command of the user's.
type InteropCommand struct {
	Line   string `json:"line"`
	TimeNS int64  `json:"time_ns"`
	Failed string `json:"failed,omitempty"` // why; empty: it ended with exit status 0
}

// InteropEcho is echo requests and what was answered. Times are 0 if nothing was.
type InteropEcho struct {
	Octets     int    `json:"octets"` // of the IP packet
	Sent       int    `json:"sent"`
	Received   int    `json:"received"`   // answered with the octets that were sent
	Damaged    int    `json:"damaged"`    // answers with other octets
	Duplicated int    `json:"duplicated"` // answers to what was answered already
	Unsent     int    `json:"unsent"`     // of those sent, which the kernel refused
	MinNS      int64  `json:"rtt_min_ns"`
	MeanNS     int64  `json:"rtt_mean_ns"`
	MaxNS      int64  `json:"rtt_max_ns"`
	FirstNS    int64  `json:"first_answer_ns"` // after the first request
	GapNS      int64  `json:"gap_ns"`          // longest time without an answer
	Recovered  bool   `json:"recovered"`       // one of the last requests was answered
	Error      string `json:"error,omitempty"` // last one of sending, or of ICMP
}

// InteropTransfer is TCP, UDP or HTTP. Octets and rates are of payload at the receiver,
// but AskedBPS and IPBPS: of IP packets.
type InteropTransfer struct {
	Octets     uint64  `json:"octets"`
	BPS        float64 `json:"bps"`
	Packets    int     `json:"packets,omitempty"` // of UDP, sent
	Lost       int     `json:"lost,omitempty"`    // of these
	AskedBPS   float64 `json:"asked_bps,omitempty"`
	OfferedBPS float64 `json:"offered_bps,omitempty"`
	IPBPS      float64 `json:"ip_bps,omitempty"`
	SHA256     string  `json:"sha256,omitempty"`
}

// InteropUPF is what the UPF said of itself when a step had failed.
type InteropUPF struct {
	Drops    map[string]uint64 `json:"drops"` // during the step, by reason
	Sessions []InteropSession  `json:"sessions"`
	Error    string            `json:"error,omitempty"`
}

// InteropSession is a session of the UE's.
type InteropSession struct {
	SEID         string   `json:"seid"`
	PDRs         int      `json:"pdrs"`
	ApplyActions []string `json:"apply_actions"` // of its FARs
}

// Judged returns how many steps passed and failed.
func (r *Interop) Judged() (passed, failed int) {
	for i := range r.Steps {
		switch r.Steps[i].Result {
		case Pass:
			passed++
		case Fail:
			failed++
		}
	}
	return passed, failed
}

// WriteInterop writes r as JSON.
func WriteInterop(w io.Writer, r *Interop) error {
	return plainjson.Write(w, r)
}
