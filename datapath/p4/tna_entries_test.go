package p4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	p4info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// entry is one as text says it: fields of the key and parameters by their names.
type entry struct {
	table, action string
	priority      int32
	key           map[string]bmv2.Match
	params        map[string][]byte
}

const noAction = "NoAction"

// bareName is without the name of the control that has all others.
func bareName(name string) string {
	if _, after, ok := strings.Cut(name, "gress."); ok {
		return after
	}
	return name
}

// named are entries by the names of a P4Info.
func named(p *p4info.P4Info, updates []*p4rt.Update) (all []entry) {
	for _, u := range updates {
		from := u.GetEntity().GetTableEntry()
		e := entry{priority: from.GetPriority(), key: map[string]bmv2.Match{}, params: map[string][]byte{}}
		for _, t := range p.GetTables() {
			if t.GetPreamble().GetId() != from.GetTableId() {
				continue
			}
			e.table = bareName(t.GetPreamble().GetName())
			for _, f := range t.GetMatchFields() {
				for _, m := range from.GetMatch() {
					if m.GetFieldId() == f.GetId() {
						e.key[f.GetName()] = bmv2.Match{
							Value: bytes.Join([][]byte{m.GetExact().GetValue(), m.GetLpm().GetValue(), m.GetTernary().GetValue(), m.GetRange().GetLow()}, nil),
							Mask:  m.GetTernary().GetMask(), High: m.GetRange().GetHigh(), PrefixLen: int(m.GetLpm().GetPrefixLen()),
						}
					}
				}
			}
		}
		for _, a := range p.GetActions() {
			if a.GetPreamble().GetId() != from.GetAction().GetAction().GetActionId() {
				continue
			}
			e.action = bareName(a.GetPreamble().GetName())
			for _, param := range a.GetParams() {
				for _, v := range from.GetAction().GetAction().GetParams() {
					if v.GetParamId() == param.GetId() {
						e.params[param.GetName()] = v.GetValue()
					}
				}
			}
		}
		all = append(all, e)
	}
	return all
}

// write inserts an entry. Of its parameters those are taken that the action has.
func (p *part) write(e entry) {
	p.t.Helper()
	table, ok := p.program.Table(p.control + e.table)
	if !ok {
		p.t.Fatalf("no table %s", e.table)
	}
	made := &bmv2.Entry{Priority: e.priority}
	if made.Action, ok = p.program.Action(table, p.control+e.action); !ok && e.action != noAction {
		p.t.Fatalf("%s: no action %s", e.table, e.action)
	}
	if e.action == noAction {
		made.Action, _ = p.program.Action(table, noAction)
	}
	for _, t := range p.info.GetTables() {
		if bareName(t.GetPreamble().GetName()) != e.table {
			continue
		}
		for _, f := range t.GetMatchFields() {
			made.Match = append(made.Match, e.key[f.GetName()])
		}
	}
	for _, a := range p.info.GetActions() {
		if bareName(a.GetPreamble().GetName()) != e.action {
			continue
		}
		for _, param := range a.GetParams() {
			v, ok := e.params[param.GetName()]
			if !ok {
				p.t.Fatalf("%s: %s without %s", e.table, e.action, param.GetName())
			}
			made.Params = append(made.Params, v)
		}
	}
	p.s.Update(func(tx *bmv2.Tx) {
		if err := tx.Insert(table, made); err != nil {
			p.t.Errorf("%v: %v", e, err)
		}
	})
}

func (e *entry) is(param string) bool { return number64(e.params[param]) != 0 }

func number64(b []byte) uint64 {
	return binary.BigEndian.Uint64(append(make([]byte, 8), b...)[len(b):])
}

// prefixes are the ternary fields that are a range.
func prefixes(m bmv2.Match) (all []bmv2.Match) {
	if m.High == nil {
		return []bmv2.Match{{}}
	}
	for low, high := number64(m.Value), number64(m.High); low <= high; {
		size := uint64(1)
		for low&(2*size-1) == 0 && low+2*size-1 <= high && size < 1<<16 {
			size *= 2
		}
		if mask := ^(size - 1) & 0xffff; mask == 0 {
			all = append(all, bmv2.Match{})
		} else {
			all = append(all, bmv2.Match{Value: number(low), Mask: number(mask)})
		}
		low += size
	}
	return all
}

// split writes an entry for v1model as tna has it: a driver would do it so.
func split(ingress, egress *part, e entry) {
	put := func(p *part, table, action string) {
		one := e
		one.table, one.action = table, action
		p.write(one)
	}
	cpu := func(action string) {
		e.params = map[string][]byte{"reason": {byte(datapath.PassRules)}}
		put(ingress, e.table, action)
	}
	switch e.table + " " + e.action {
	case "detect.locals6 detect.local", "enforce.slices enforce.rate":
	case "detect.tunnels detect.cpu", "detect.ues4 detect.cpu", "detect.ues6 detect.cpu", "detect.framed4 detect.cpu", "detect.framed6 detect.cpu":
		put(ingress, e.table, "detect.hold")
	case "detect.tunnels detect.one", "detect.tunnels detect.several":
		if e.is("check") && !e.is("uplink") {
			cpu("detect.hold")
			return
		}
		put(ingress, e.table, e.action)
		if e.is("ue6") {
			owner := entry{table: "detect.owners6", action: noAction, key: map[string]bmv2.Match{
				"rule": {Value: append([]byte{0}, e.params["rule"]...)}, "list": {Value: append([]byte{0}, e.params["number"]...)}, "prefix": {Value: e.params["ue6"]},
			}}
			if key := fmt.Sprint(owner); !ingress.owners[key] { // several keys of one rule
				ingress.owners[key] = true
				ingress.write(owner)
			}
		}
	case "forward.rules forward.to_n6", "forward.rules forward.to_peer":
		if e.is("closed") {
			e.params = map[string][]byte{"reason": {byte(datapath.DropGate)}}
			put(ingress, e.table, "forward.refuse")
			return
		}
		put(ingress, e.table, e.action)
		if e.action == "forward.to_peer" {
			put(egress, "forward.tunnels", "forward.tunnel")
		}
	case "forward.peers forward.peer4":
		put(ingress, e.table, "forward.by_hop")
		put(egress, "forward.peers", "forward.peer4")
	case "forward.peers forward.peer6":
		cpu("forward.cpu")
	case "forward.hops forward.by_port":
		put(ingress, e.table, e.action)
		put(egress, "forward.hops", "forward.by_hop")
	case "detect.filters4 detect.filtered", "detect.filters6 detect.filtered", "detect.filters4 detect.unfiltered", "detect.filters6 detect.unfiltered",
		"detect.filters4 detect.cpu", "detect.filters6 detect.cpu":
		from, to := e.key["source_port"], e.key["destination_port"]
		for _, s := range prefixes(from) {
			for _, d := range prefixes(to) {
				e.key["source_port"], e.key["destination_port"] = s, d
				put(ingress, e.table, e.action)
			}
		}
	case "forward.data_routes6 forward.by_hop", "forward.data_routes6 forward.cpu":
		a := e.key["address"]
		delete(e.key, "address")
		e.priority = int32(1 + a.PrefixLen)
		for i, half := range []string{"prefix", "rest"} {
			if bits := min(64, a.PrefixLen-64*i); bits > 0 {
				e.key[half] = bmv2.Match{Value: a.Value[8*i : 8*i+8], Mask: number(^uint64(0) << (64 - bits))}
			}
		}
		put(ingress, e.table, e.action)
	default:
		put(ingress, e.table, e.action)
	}
}
