package datapath

//go:generate go run ./internal/genreasons

// Reason says why a datapath did not forward a packet: a Drop… constant, or a
// Pass… constant where it handed the packet on to the host or the slow path.
type Reason uint32

type reason struct {
	label, text string
	drop        bool
}

// String returns the label that metrics and tables use ("no_pdr").
func (r Reason) String() string { return r.get().label }

// Text returns a sentence fragment for people.
func (r Reason) Text() string { return r.get().text }

// IsDrop reports whether the packet is lost.
func (r Reason) IsDrop() bool { return r.get().drop }

func (r Reason) get() reason {
	if int(r) >= len(reasons) {
		return reason{label: "unknown", text: "unknown reason"}
	}
	return reasons[r]
}

// Reasons returns all of them but [ReasonNone], in the order of their values.
func Reasons() []Reason {
	all := make([]Reason, len(reasons)-1)
	for i := range all {
		all[i] = Reason(i + 1)
	}
	return all
}
