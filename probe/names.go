package probe

import "strconv"

// name returns what n is called, of a list.
func name[T ~uint8](n T, names ...string) string {
	if int(n) < len(names) {
		return names[n]
	}
	return strconv.Itoa(int(n))
}

// String is "in" or "out".
func (w Way) String() string { return name(w, "in", "out") }

// String is "both", "N3" or "N6".
func (s Side) String() string { return name(s, "both", "N3", "N6") }

// String is "ingress", "egress", or these of the host.
func (h Hook) String() string { return name(h, "ingress", "egress", "host ingress", "host egress") }

// String is "uplink" or "downlink".
func (d Direction) String() string { return name(d, "uplink", "downlink") }
