package model

// fromNetwork returns those of the rules that take packets from the data network
// with this number.
func fromNetwork(rules []*Rule, network int) []*Rule {
	for i, r := range rules {
		if r.Network == 0 || r.Network == network {
			continue
		}
		some := append([]*Rule(nil), rules[:i]...)
		for _, r := range rules[i+1:] {
			if r.Network == 0 || r.Network == network {
				some = append(some, r)
			}
		}
		return some
	}
	return rules
}
