package bmv2

// Tables are the tables of the program. They are not to be changed, as is what the functions below give.
func (p *Program) Tables() []Table { return p.tables }

// Actions are the actions of the program.
func (p *Program) Actions() []Action { return p.actions }

// Counters are the counter arrays and direct counters of the program.
func (p *Program) Counters() []Counter { return p.counters }

// Meters are the meter arrays and direct meters of the program.
func (p *Program) Meters() []Meter { return p.meters }

// Registers are the register arrays of the program.
func (p *Program) Registers() []Register { return p.registers }

// Digests are the digests of the program.
func (p *Program) Digests() []Digest { return p.digests }

// byName finds a position by name.
func byName[T any](of []T, name string, named func(*T) string) (int, bool) {
	for i := range of {
		if named(&of[i]) == name {
			return i, true
		}
	}
	return 0, false
}

// Table finds a table by its name, as "MyIngress.sessions".
func (p *Program) Table(name string) (int, bool) {
	return byName(p.tables, name, func(t *Table) string { return t.Name })
}

// Action finds an action of a table by its name.
func (p *Program) Action(table int, name string) (int, bool) {
	if table < 0 || table >= len(p.tables) {
		return 0, false
	}
	for _, a := range p.tables[table].Actions {
		if p.actions[a].Name == name {
			return a, true
		}
	}
	return 0, false
}

// Counter finds a counter array, or direct counters, by name.
func (p *Program) Counter(name string) (int, bool) {
	return byName(p.counters, name, func(c *Counter) string { return c.Name })
}

// Meter finds a meter array, or direct meters, by name.
func (p *Program) Meter(name string) (int, bool) {
	return byName(p.meters, name, func(m *Meter) string { return m.Name })
}

// Register finds a register array by name.
func (p *Program) Register(name string) (int, bool) {
	return byName(p.registers, name, func(r *Register) string { return r.Name })
}

// Digest finds a digest by name.
func (p *Program) Digest(name string) (int, bool) {
	return byName(p.digests, name, func(d *Digest) string { return d.Name })
}
