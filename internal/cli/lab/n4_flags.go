package labcmd

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// labN4Shape is the flags that say what a session looks like.
type labN4Shape struct {
	PDRs  int          `name:"pdrs" default:"2" placeholder:"N" help:"PDRs of a session, half of them for each direction; those after the first two have an SDF filter. Default: 2."`
	QER   bool         `name:"qer" default:"true" negatable:"" help:"A QER with a QFI for all PDRs (the default)."`
	URR   bool         `name:"urr" default:"true" negatable:"" help:"A URR with a volume threshold for all PDRs (the default)."`
	TEID  string       `name:"teid" default:"upf" enum:"upf,cp" help:"Who chooses F-TEIDs: ${enum}."`
	N3    netip.Addr   `name:"n3" placeholder:"ADDR" help:"N3 address of the UPF, with --teid cp."`
	UE    netip.Prefix `name:"ue" default:"10.64.0.0/10" placeholder:"PREFIX" help:"UE addresses. Default: 10.64.0.0/10."`
	GNB   netip.Addr   `name:"gnb" default:"192.0.2.1" placeholder:"ADDR" help:"The gNB's end of the tunnels. Default: 192.0.2.1."`
	DNN   string       `name:"dnn" placeholder:"NAME" help:"DNN of the sessions. Default: none."`
	NI    string       `name:"network-instance" placeholder:"NAME" help:"Network Instance of all PDRs and FARs. Default: none."`
	QFI   uint8        `name:"qfi" default:"9" placeholder:"N" help:"QFI of the QER; 0 is none (4G). Default: 9."`
	MBRUp uint64       `name:"mbr" placeholder:"KBPS" help:"MBR of the QER in both directions. Default: none."`
}

// template is what the sessions have in common.
func (s *labN4Shape) template() (n4load.Template, error) {
	t := n4load.Template{
		UE: s.UE.Masked().Addr().Next(), GNB: s.GNB, DLTEID: 1, PDRs: s.PDRs, URR: s.URR,
		NetworkInstance: s.NI, DNN: s.DNN,
	}
	if s.QER {
		t.QFI, t.MBR = pfcp.QFI(s.QFI), pfcp.BitRates{UplinkKbps: s.MBRUp, DownlinkKbps: s.MBRUp}
	}
	switch {
	case !s.UE.Addr().Is4() || !s.GNB.Is4():
		return t, fmt.Errorf("--ue %s, --gnb %s: want IPv4", s.UE, s.GNB)
	case s.TEID == "cp" && !s.N3.Is4():
		return t, fmt.Errorf("--teid cp: want the UPF's N3 address, --n3")
	case s.QFI > 63:
		return t, fmt.Errorf("--qfi %d: want 0 to 63", s.QFI)
	}
	if s.TEID == "cp" {
		t.N3, t.ULTEID = s.N3, 1
	}
	return t, t.Validate()
}

// String is the shape in words.
func (s *labN4Shape) String() string {
	words := []string{fmt.Sprintf("%d PDR", s.PDRs), fmt.Sprintf("%d FAR", 2)}
	if s.QER {
		words = append(words, "1 QER")
	}
	if s.URR {
		words = append(words, "1 URR")
	}
	return strings.Join(words, " + ") + ", F-TEID chosen by the " + map[string]string{"upf": "UP", "cp": "CP"}[s.TEID] + " function"
}

// n4Operation is what a load consists of.
type n4Operation struct {
	shares n4Shares
	idle   bool // [method.IdleActive], in place of shares
}

// UnmarshalText takes what n4Shares does, and idle-active.
func (o *n4Operation) UnmarshalText(text []byte) error {
	*o = n4Operation{idle: string(text) == method.IdleActive}
	if o.idle {
		return nil
	}
	return o.shares.UnmarshalText(text)
}

// n4Shares is an operation, or shares of all of them.
type n4Shares [n4load.Operations]float64

// UnmarshalText takes establish, modify, delete, or E:M:D.
func (s *n4Shares) UnmarshalText(text []byte) error {
	*s = n4Shares{}
	for op, name := range n4load.OperationNames {
		if string(text) == name {
			s[op] = 1
			return nil
		}
	}
	words, sum := strings.Split(string(text), ":"), 0.0
	if len(words) != len(s) {
		return fmt.Errorf("%q: want establish, modify, delete, or shares such as 1:8:1", text)
	}
	for op, word := range words {
		share, err := strconv.ParseFloat(word, 64)
		if err != nil || !(share >= 0 && share <= 1e6) {
			return fmt.Errorf("%q: want shares such as 1:8:1", text)
		}
		s[op] = share
		sum += share
	}
	if sum == 0 {
		return fmt.Errorf("%q: nothing to do", text)
	}
	return nil
}

// n4Arrival is how the requests of an open loop follow each other.
type n4Arrival struct {
	arrival n4load.Arrival
	burst   int
}

// UnmarshalText takes constant, poisson, or burst:N.
func (a *n4Arrival) UnmarshalText(text []byte) error {
	switch word, number, has := strings.Cut(string(text), ":"); {
	case word == "constant" && !has:
		*a = n4Arrival{arrival: n4load.Constant}
	case word == "poisson" && !has:
		*a = n4Arrival{arrival: n4load.Poisson}
	case word == "burst" && has:
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > n4load.MaxWindow {
			return fmt.Errorf("%q: want burst:1 to burst:%d", text, n4load.MaxWindow)
		}
		*a = n4Arrival{arrival: n4load.Burst, burst: n}
	default:
		return fmt.Errorf("%q: want constant, poisson, or burst:N", text)
	}
	return nil
}

// n4Ramp is rates that change evenly, in requests per second.
type n4Ramp struct{ from, to float64 }

// UnmarshalText takes FROM:TO.
func (r *n4Ramp) UnmarshalText(text []byte) error {
	numbers, err := n4Rates(string(text), 2)
	if err != nil {
		return fmt.Errorf("%q: want FROM:TO in requests per second, such as 1000:20000", text)
	}
	*r = n4Ramp{numbers[0], numbers[1]}
	return nil
}

// n4Steps is rates, one after the other, in requests per second.
type n4Steps []float64

const maxN4Steps = 100

// UnmarshalText takes FROM:TO:BY. Rates may go down: then FROM is the highest.
func (s *n4Steps) UnmarshalText(text []byte) error {
	numbers, err := n4Rates(string(text), 3)
	if err != nil {
		return fmt.Errorf("%q: want FROM:TO:BY in requests per second, such as 1000:20000:1000", text)
	}
	from, to, by := numbers[0], numbers[1], numbers[2]
	if from > to {
		by = -by
	}
	n := int((to-from)/by+1e-9) + 1
	if n > maxN4Steps {
		return fmt.Errorf("%q: %d steps: want %d at most", text, n, maxN4Steps)
	}
	*s = nil
	for i := range n {
		*s = append(*s, from+float64(i)*by)
	}
	return nil
}

const maxN4Rate = 1e8 // requests per second

// n4Rates parses n rates separated by colons.
func n4Rates(text string, n int) ([]float64, error) {
	words := strings.Split(text, ":")
	if len(words) != n {
		return nil, fmt.Errorf("%d numbers: want %d", len(words), n)
	}
	var list []float64
	for _, word := range words {
		rate, err := strconv.ParseFloat(word, 64)
		if err != nil || !(rate >= 1 && rate <= maxN4Rate) {
			return nil, fmt.Errorf("%q: want 1 to %g", word, maxN4Rate)
		}
		list = append(list, rate)
	}
	return list, nil
}
