package p4rt

import "github.com/plumbline-upf/plumbline/p4/bmv2"

// Program is a checked P4 program: what its JSON has, with positions that Tx is given. [bmv2.Program] is one.
type Program interface {
	Tables() []bmv2.Table
	Actions() []bmv2.Action
	Counters() []bmv2.Counter
	Meters() []bmv2.Meter
	Registers() []bmv2.Register
	Digests() []bmv2.Digest
	Table(name string) (int, bool)
	Action(table int, name string) (int, bool)
	Counter(name string) (int, bool)
	Meter(name string) (int, bool)
	Register(name string) (int, bool)
	Digest(name string) (int, bool)
}

// State is a program with its entries, counters and so on. Its methods are for any goroutine.
type State interface {
	// Update lets fn change the state; no packet sees a part of the changes.
	Update(fn func(Tx))
	// View lets fn read the state.
	View(fn func(Tx))
}

// Tx is access to a state within Update or View. A method that returns an error has changed nothing; the errors wrap
// [bmv2.ErrFull], [bmv2.ErrExists], [bmv2.ErrNotFound], [bmv2.ErrInvalid] or [bmv2.ErrConst]. What is handed over is
// copied, and what comes back is valid until the next call. [bmv2.Tx] is one.
type Tx interface {
	Insert(table int, e *bmv2.Entry) error
	Modify(table int, e *bmv2.Entry) error
	Delete(table int, e *bmv2.Entry) error
	SetDefault(table, action int, params [][]byte) error
	ResetDefault(table int) error
	Default(table int) (bmv2.Entry, error)
	Entry(table int, e *bmv2.Entry) (bmv2.Entry, error)
	Entries(table int, fn func(*bmv2.Entry) bool) error
	Counter(counter, index int) (bmv2.CounterValue, error)
	SetCounter(counter, index int, v bmv2.CounterValue) error
	Meter(meter, index int) (c bmv2.MeterConfig, ok bool, err error)
	SetMeter(meter, index int, c *bmv2.MeterConfig) error
	SetEntryMeter(table int, e *bmv2.Entry, c *bmv2.MeterConfig) error
	SetEntryCounter(table int, e *bmv2.Entry, v bmv2.CounterValue) error
	Register(register, index int) ([]byte, error)
	SetRegister(register, index int, v []byte) error
	SetCloneSession(session uint16, c *bmv2.CloneSession) error
	SetMulticastGroup(group uint16, replicas []bmv2.Replica) error
}

// Switch is what the server controls.
type Switch interface {
	// Load checks a program. Errors: what is wrong with it, or not implemented.
	Load(json []byte) (Program, error)
	// New makes a state of a program that Load returned; no frames go through it.
	New(p Program) (State, error)
	// Run has frames go through a state that New returned, in place of the one before.
	Run(s State) error
	// PacketOut has a frame come in at the CPU port: the header "packet_out", then the payload. It does not wait: an
	// error says that there was no room. The frame belongs to the switch from then on.
	PacketOut(frame []byte) error
}

// Instance makes a State of an executor's instance.
func Instance(i *bmv2.Instance) State { return instance{i} }

type instance struct{ *bmv2.Instance }

// Update is that of the instance.
func (i instance) Update(fn func(Tx)) { i.Instance.Update(func(t *bmv2.Tx) { fn(t) }) }

// View is that of the instance.
func (i instance) View(fn func(Tx)) { i.Instance.View(func(t *bmv2.Tx) { fn(t) }) }
