package p4rt

import (
	"fmt"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// pipeline is a program together with its P4Info and one state of it: the ids of requests as
// positions in the program. It also has the state that the executor does not hold.
type pipeline struct {
	config  *p4.ForwardingPipelineConfig // as it was set
	program Program
	state   State

	tables    []*table
	tableByID map[uint32]*table
	counters  []*array
	meters    []*array
	registers []*array
	arrayByID map[uint32]*array // counters, meters and registers
	digests   []*digest         // by position in the program; nil: not in P4Info
	digestID  map[uint32]*digest

	packetIn, packetOut *packetHeader // nil: the program has none

	groups map[uint32]*p4.MulticastGroupEntry
	clones map[uint32]*p4.CloneSessionEntry
}

// table is a table of P4Info.
type table struct {
	id    uint32
	name  string
	index int // in the program

	fields       []field // in the order of the program's key
	actions      []action
	priority     bool
	constEntries bool
	constDefault bool
	initial      bool // the program gives entries, some of which may be constant
	idle         bool // P4Info promises idle timeouts
	counter      bool // direct
	meter        *info.MeterSpec

	// notes are what controllers attached to entries, by entryKey; most entries have none.
	notes map[string]note
	// defaultNote is that of the default entry.
	defaultNote note
}

// note is what is opaque to the switch.
type note struct {
	cookie   uint64
	metadata string
}

type field struct {
	id    uint32
	name  string
	kind  bmv2.MatchKind
	width int
	ones  []byte // of an optional field: the mask that is meant
}

type action struct {
	id     uint32
	name   string
	index  int
	params []param // in the order of the program
	scope  info.ActionRef_Scope
}

type param struct {
	id    uint32
	name  string
	width int
}

// array is a counter array, a meter array or registers.
type array struct {
	id    uint32
	name  string
	kind  arrayKind
	index int // in the program
	size  int
	meter *info.MeterSpec
	data  *dataType // of registers
}

type arrayKind string

const (
	counterArray  arrayKind = "counter"
	meterArray    arrayKind = "meter"
	registerArray arrayKind = "register"
)

// builder checks P4Info against a program.
type builder struct {
	pipeline
	info    *info.P4Info
	actions map[uint32]*info.Action
	seen    map[uint32]string // ids
}

// newPipeline checks that all of P4Info is in the program, with the same shape. The state is still to be made.
func newPipeline(p *info.P4Info, program Program) (*pipeline, error) {
	b := &builder{info: p, actions: map[uint32]*info.Action{}, seen: map[uint32]string{}}
	b.program = program
	b.tableByID, b.arrayByID, b.digestID = map[uint32]*table{}, map[uint32]*array{}, map[uint32]*digest{}
	b.groups, b.clones = map[uint32]*p4.MulticastGroupEntry{}, map[uint32]*p4.CloneSessionEntry{}
	for _, step := range []func() error{
		b.refuseOthers, b.addActions, b.addTables, b.addDirect, b.addCounters, b.addMeters, b.addRegisters, b.addDigests, b.addPackets,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &b.pipeline, nil
}

// refuseOthers refuses what is not implemented.
func (b *builder) refuseOthers() error {
	for _, x := range b.info.GetActionProfiles() {
		return fmt.Errorf("action profile %s: %w", x.GetPreamble().GetName(), bmv2.ErrUnsupported)
	}
	for _, x := range b.info.GetValueSets() {
		return fmt.Errorf("value set %s: %w", x.GetPreamble().GetName(), bmv2.ErrUnsupported)
	}
	for _, x := range b.info.GetExterns() {
		return fmt.Errorf("extern %s: %w", x.GetExternTypeName(), bmv2.ErrUnsupported)
	}
	return nil
}

// name returns the name of an object of P4Info, whose id must be unique.
func (b *builder) name(kind string, p *info.Preamble) (string, error) {
	name := p.GetName()
	switch other, taken := b.seen[p.GetId()]; {
	case p.GetId() == 0:
		return "", fmt.Errorf("P4Info: %s %q: id 0", kind, name)
	case name == "":
		return "", fmt.Errorf("P4Info: %s with id %#x: no name", kind, p.GetId())
	case taken:
		return "", fmt.Errorf("P4Info: %s %s: its id %#x is that of %s, too", kind, name, p.GetId(), other)
	}
	b.seen[p.GetId()] = name
	return name, nil
}

func (b *builder) addActions() error {
	for _, a := range b.info.GetActions() {
		if _, err := b.name("action", a.GetPreamble()); err != nil {
			return err
		}
		b.actions[a.GetPreamble().GetId()] = a
	}
	return nil
}

// missing says that something of P4Info is not in the program.
func missing(kind, name string) error {
	return fmt.Errorf("%s %s of P4Info is not in the program", kind, name)
}

// differs says that something of P4Info is otherwise in the program.
func differs(kind, name, what string, of, in any) error {
	return fmt.Errorf("%s %s: %s is %v in P4Info, and %v in the program", kind, name, what, of, in)
}

func (b *builder) addDirect() error {
	for _, c := range b.info.GetDirectCounters() {
		t, err := b.direct("direct counter", c.GetPreamble(), c.GetDirectTableId())
		if err != nil {
			return err
		}
		if b.program.Tables()[t.index].Counter < 0 {
			return missing("direct counter", c.GetPreamble().GetName())
		}
		t.counter = true
	}
	for _, m := range b.info.GetDirectMeters() {
		t, err := b.direct("direct meter", m.GetPreamble(), m.GetDirectTableId())
		if err != nil {
			return err
		}
		at := b.program.Tables()[t.index].Meter
		if at < 0 {
			return missing("direct meter", m.GetPreamble().GetName())
		}
		if err := sameUnit(m.GetPreamble().GetName(), m.GetSpec(), b.program.Meters()[at]); err != nil {
			return err
		}
		t.meter = m.GetSpec()
		if t.meter == nil {
			t.meter = &info.MeterSpec{}
		}
	}
	return nil
}

// direct finds the table that has a direct counter or meter.
func (b *builder) direct(kind string, p *info.Preamble, id uint32) (*table, error) {
	name, err := b.name(kind, p)
	if err != nil {
		return nil, err
	}
	t := b.tableByID[id]
	if t == nil {
		return nil, fmt.Errorf("P4Info: %s %s: there is no table with id %#x", kind, name, id)
	}
	return t, nil
}

func sameUnit(name string, spec *info.MeterSpec, m bmv2.Meter) error {
	if octets := spec.GetUnit() == info.MeterSpec_BYTES; octets != m.Octets {
		return differs("meter", name, "whether it is about octets", octets, m.Octets)
	}
	if spec.GetType() == info.MeterSpec_SINGLE_RATE_THREE_COLOR {
		return fmt.Errorf("meter %s: one rate and three colours: %w", name, bmv2.ErrUnsupported)
	}
	return nil
}
