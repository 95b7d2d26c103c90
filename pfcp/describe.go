package pfcp

// A description is a container as docs/pfcp.md shows it.
type description struct {
	name, clause string
	rows         []row
}

// A row is one member of a container.
type row struct {
	ie       IEType
	presence presence
	state    state
	decoded  bool // into a field
	limit    int  // maximum number; 0: once, or, if it is not decoded, any number
}

// descriptions has every container, in the order in which they came to be.
var descriptions []description

func register(d description) { descriptions = append(descriptions, d) }

func describe[T any](members []member[T]) []row {
	rows := make([]row, 0, len(members))
	for _, m := range members {
		rows = append(rows, row{m.ie, m.presence, m.state, m.decoded || m.state == decoded, m.limit})
	}
	return rows
}
