package pfcp

import (
	"encoding/binary"
	"fmt"
)

// RuleType is the kind of rule that a Failed Rule ID names.
type RuleType uint8

// Rule types.
const (
	RulePDR RuleType = 0
	RuleFAR RuleType = 1
	RuleQER RuleType = 2
	RuleURR RuleType = 3
	RuleBAR RuleType = 4
	RuleMAR RuleType = 5
	RuleSRR RuleType = 6
)

// String returns "PDR", "FAR" and so on.
func (t RuleType) String() string {
	if int(t) < len(ruleTypeNames) {
		return ruleTypeNames[t]
	}
	return fmt.Sprintf("rule type %d", uint8(t))
}

var ruleTypeNames = [...]string{"PDR", "FAR", "QER", "URR", "BAR", "MAR", "SRR"}

// ruleIDOctets is the length of each type's ID.
var ruleIDOctets = [...]int{2, 4, 4, 4, 1, 2, 1}

// FailedRuleID is a Failed Rule ID. Source: TS 29.244 V18.6.0, 8.2.80.
type FailedRuleID struct {
	Type RuleType
	ID   uint32
}

var failedRuleID = codec[FailedRuleID]{
	func(v *FailedRuleID, b []byte) error {
		r := reader{b: b}
		*v = FailedRuleID{Type: RuleType(r.u8() & 0x1f)}
		if int(v.Type) >= len(ruleIDOctets) {
			v.Type = RuleFAR // "received as spare, interpreted as 1": 8.2.80
		}
		for _, octet := range r.take(ruleIDOctets[v.Type]) {
			v.ID = v.ID<<8 | uint32(octet)
		}
		return r.err
	},
	func(b []byte, v *FailedRuleID) []byte {
		kind := v.Type
		if int(kind) >= len(ruleIDOctets) {
			kind = RuleFAR
		}
		var id [4]byte
		binary.BigEndian.PutUint32(id[:], v.ID)
		return append(append(b, byte(kind)), id[4-ruleIDOctets[kind]:]...)
	},
}
