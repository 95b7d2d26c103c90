package bmv2

// Program is a P4 program, checked and compiled. It never changes; any number of instances may run it.
type Program struct{}

// Load reads BMv2 JSON.
func Load(json []byte) (*Program, error) { return nil, ErrUnsupported }

// Tables are the tables of the program.
func (p *Program) Tables() []Table { return nil }

// Actions are the actions of the program.
func (p *Program) Actions() []Action { return nil }

// Counters are the counter arrays and direct counters of the program.
func (p *Program) Counters() []Counter { return nil }

// Meters are the meter arrays and direct meters of the program.
func (p *Program) Meters() []Meter { return nil }

// Registers are the register arrays of the program.
func (p *Program) Registers() []Register { return nil }

// Digests are the digests of the program.
func (p *Program) Digests() []Digest { return nil }

// Table finds a table by its name, as "MyIngress.sessions".
func (p *Program) Table(name string) (int, bool) { return 0, false }

// Action finds an action of a table by its name.
func (p *Program) Action(table int, name string) (int, bool) { return 0, false }

// Counter finds a counter array, or direct counters, by name.
func (p *Program) Counter(name string) (int, bool) { return 0, false }

// Meter finds a meter array, or direct meters, by name.
func (p *Program) Meter(name string) (int, bool) { return 0, false }

// Register finds a register array by name.
func (p *Program) Register(name string) (int, bool) { return 0, false }

// Digest finds a digest by name.
func (p *Program) Digest(name string) (int, bool) { return 0, false }

// New makes an instance of the program: its tables with the entries that the program gives, and all counters zero.
func (p *Program) New(c Config) *Instance { return nil }

// Instance is a program with its state.
type Instance struct{}

// Worker is what one goroutine needs to let frames through an instance.
type Worker struct{}

// Tx is access to an instance's state, within Update or View.
type Tx struct{}

// NewWorker makes a worker. Each goroutine has its own.
func (s *Instance) NewWorker() *Worker { return nil }

// Close lets updates no longer wait for the worker.
func (w *Worker) Close() {}

// Process lets a batch of frames through. No update falls within a batch.
func (w *Worker) Process(frames []Frame, out Sink) {}

// Update lets fn change the instance. No packet sees a part of the changes. Each method says for itself whether it was
// done; a change that was refused has changed nothing.
func (s *Instance) Update(fn func(*Tx)) {}

// View lets fn read the instance while packets go on. Changes are refused.
func (s *Instance) View(fn func(*Tx)) {}

// Insert adds an entry. Errors: ErrFull, ErrExists, ErrInvalid, ErrConst.
func (t *Tx) Insert(table int, e *Entry) error { return ErrInvalid }

// Modify gives an entry another action or parameters; its counter and meter stay, unless the entry says otherwise. Errors: ErrNotFound, ErrInvalid, ErrConst.
func (t *Tx) Modify(table int, e *Entry) error { return ErrInvalid }

// Delete removes the entry with this match and priority. Errors: ErrNotFound, ErrInvalid, ErrConst.
func (t *Tx) Delete(table int, e *Entry) error { return ErrInvalid }

// SetDefault sets the default action. Errors: ErrInvalid, ErrConst.
func (t *Tx) SetDefault(table, action int, params [][]byte) error { return ErrInvalid }

// ResetDefault sets the default action to that of the program.
func (t *Tx) ResetDefault(table int) error { return ErrInvalid }

// Default is the default action, with its counter and meter, as an entry without a match.
func (t *Tx) Default(table int) (Entry, error) { return Entry{}, ErrInvalid }

// Entry finds the entry with the match and priority of e. Errors: ErrNotFound, ErrInvalid.
func (t *Tx) Entry(table int, e *Entry) (Entry, error) { return Entry{}, ErrInvalid }

// Entries calls fn for each entry until it returns false. Order is not specified.
func (t *Tx) Entries(table int, fn func(*Entry) bool) error { return ErrInvalid }

// Len is the number of entries of a table.
func (t *Tx) Len(table int) (int, error) { return 0, ErrInvalid }

// Counter reads a cell of a counter array.
func (t *Tx) Counter(counter, index int) (CounterValue, error) { return CounterValue{}, ErrInvalid }

// SetCounter writes a cell of a counter array.
func (t *Tx) SetCounter(counter, index int, v CounterValue) error { return ErrInvalid }

// Meter reads a cell of a meter array; ok is false if it was not set, so that all packets are green.
func (t *Tx) Meter(meter, index int) (c MeterConfig, ok bool, err error) {
	return MeterConfig{}, false, ErrInvalid
}

// SetMeter sets a cell of a meter array, with full buckets; nil lets all packets be green again.
func (t *Tx) SetMeter(meter, index int, c *MeterConfig) error { return ErrInvalid }

// SetEntryMeter sets the direct meter of an entry; nil lets all packets be green again.
func (t *Tx) SetEntryMeter(table int, e *Entry, c *MeterConfig) error { return ErrInvalid }

// SetEntryCounter sets the direct counter of an entry.
func (t *Tx) SetEntryCounter(table int, e *Entry, v CounterValue) error { return ErrInvalid }

// Register reads a cell of a register array.
func (t *Tx) Register(register, index int) ([]byte, error) { return nil, ErrInvalid }

// SetRegister writes a cell of a register array.
func (t *Tx) SetRegister(register, index int, v []byte) error { return ErrInvalid }

// SetCloneSession sets what becomes of packets that are cloned to a session; nil removes it.
func (t *Tx) SetCloneSession(session uint16, c *CloneSession) error { return ErrInvalid }

// SetMulticastGroup sets the replicas of a group; none remove it. Group 0 cannot be set.
func (t *Tx) SetMulticastGroup(group uint16, replicas []Replica) error { return ErrInvalid }
