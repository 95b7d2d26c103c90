package pfcp

// PredefinedRules is what a PDR says of rules that the UP function has by its
// configuration, and of when the PDR is active.
// Source: TS 29.244 V18.6.0, 8.2.72, 8.2.73, 8.2.121 and 8.2.122.
type PredefinedRules struct {
	Activate         [][]byte // names
	Deactivate       [][]byte // names; in an Update PDR only
	ActivationTime   Optional[TimeStamp]
	DeactivationTime Optional[TimeStamp]
}

func (p *PredefinedRules) reset() {
	*p = PredefinedRules{Activate: p.Activate[:0], Deactivate: p.Deactivate[:0]}
}

func predefinedRules[T any](get func(*T) *PredefinedRules) []member[T] {
	stamp := u32[TimeStamp]()
	return []member[T]{
		some(IEActivatePredefinedRules, conditional, MaxRuleRefs, func(p *T) *[][]byte { return &get(p).Activate }, view),
		opt(IEActivationTime, optional, func(p *T) *Optional[TimeStamp] { return &get(p).ActivationTime }, stamp),
		opt(IEDeactivationTime, optional, func(p *T) *Optional[TimeStamp] { return &get(p).DeactivationTime }, stamp),
	}
}
