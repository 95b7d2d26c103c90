package endpoint

import (
	"slices"
	"strings"
)

// Named says how a list of configured Network Instances or DNNs has one that a CP function
// sends: 2 as it is, 1 without its APN Operator Identifier, 0 not at all. Names have no
// case, and the Operator Identifier is optional: what is configured without one is meant
// with any, what is configured with one, with that alone.
//
// Source: TS 23.003, 9.1 and 9.1.2; TS 29.244 V18.6.0, 8.2.4.
func Named(list []string, sent string) int {
	if slices.Contains(list, sent) { // nearly always
		return 2
	}
	network := withoutOperator(sent)
	how := 0
	for _, name := range list {
		switch {
		case strings.EqualFold(name, sent):
			return 2
		case len(network) < len(sent) && strings.EqualFold(name, network):
			how = 1
		}
	}
	return how
}

// SameName reports whether two names that a CP function sends mean the same.
func SameName(a, b string) bool {
	return a == b || strings.EqualFold(withoutOperator(a), withoutOperator(b))
}

// withoutOperator takes an APN Operator Identifier, .mnc<MNC>.mcc<MCC>.gprs, off a name.
func withoutOperator(name string) string {
	const size = len(".mnc001.mcc001.gprs")
	at := len(name) - size
	if at <= 0 {
		return name
	}
	o := strings.ToLower(name[at:])
	if o[:4] != ".mnc" || o[7:11] != ".mcc" || o[14:] != ".gprs" || !digits(o[4:7]) || !digits(o[11:14]) {
		return name
	}
	return name[:at]
}

func digits(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
}
