package vector

import (
	"plumbline/datapath"
	"plumbline/datapath/model"
)

// rulesByKey is the [model.Index].
type rulesByKey map[datapath.Key][]*model.Rule

// Candidates implements [model.Index].
func (m rulesByKey) Candidates(k datapath.Key) []*model.Rule { return m[k] }

// Bind implements [model.Index].
func (m rulesByKey) Bind(k datapath.Key, rules []*model.Rule) { m[k] = rules }

// Unbind implements [model.Index].
func (m rulesByKey) Unbind(k datapath.Key) { delete(m, k) }
