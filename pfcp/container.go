package pfcp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// presence is the presence requirement of an IE in a message or grouped IE.
// Source: TS 29.244 V18.6.0, 7.5.1 (M, C, CO, O).
type presence byte

const (
	mandatory   presence = 'M'
	conditional presence = 'C' // conditional and conditional-optional
	optional    presence = 'O'
)

// state is the treatment of a known IE.
type state string

const (
	decoded state = "decoded" // into a field
	noted   state = "noted"   // the type of the first goes into the field Noted
	skipped state = "skipped" // as if it were unknown
)

// A codec reads and writes the content of one IE, without type and length.
//
// read gets a content whose length is within the limits of the table ies, and must set all of *V.
// It returns nil, an *[Error] from a container inside, or an error that wraps [ErrLength] or
// [ErrIncorrect].
type codec[V any] struct {
	read  func(*V, []byte) error
	write func([]byte, *V) []byte
}

// A member is an IE that a container may have; the container is decoded to a T.
type member[T any] struct {
	ie       IEType
	presence presence
	state    state
	limit    int                     // maximum number if repeats; more is an error
	repeats  bool                    // it may occur more than once
	decoded  bool                    // into a field, independent of its state
	unless   func(*T) bool           // it need not be there although it is mandatory; may be nil
	read     func(*T, []byte) error  // nil if skipped
	write    func([]byte, *T) []byte // with type and length; nil if skipped

	min, max int // length of the content, from the table ies if it is decoded
}

// A container is a grouped IE or the body of a message: the one description
// from which its decoder, its encoder and its documentation follow.
type container[T any] struct {
	name    string
	clause  string // of TS 29.244
	members []member[T]
	reset   func(*T)       // empties it, keeping slices
	check   func(*T) error // what is missing by a condition; may be nil

	// removed is the list of IEs of null length, which in a modification ask
	// to remove a parameter (TS 29.244, 5.6.3). nil: that is an invalid length.
	removed func(*T) *[]IEType

	index     [maxIEType + 1]uint8 // of the IE type's member, from 1; 0: unexpected here
	mandatory uint64               // bit i: member i
}

// lenIE is the length of an IE's type and length. Source: TS 29.244 V18.6.0, 8.1.1.
const lenIE = 4

// newContainer completes c. It panics if the tables contradict each other,
// which they do at start or never.
func newContainer[T any](c container[T]) *container[T] {
	if len(c.members) > 64 {
		panic("pfcp: " + c.name + ": more than 64 members")
	}
	for i, m := range c.members {
		if ies[m.ie].name == "" || c.index[m.ie] != 0 {
			panic(fmt.Sprintf("pfcp: %s: member %d: not in the table of IEs, or here twice", c.name, m.ie))
		}
		c.index[m.ie] = uint8(i + 1)
		c.members[i].max = maxLength
		if m.state == decoded || m.decoded {
			c.members[i].min, c.members[i].max = ies[m.ie].min, ies[m.ie].max
		}
		if m.presence == mandatory {
			c.mandatory |= 1 << i
		}
	}
	register(description{c.name, c.clause, describe(c.members)})
	return &c
}

// decode replaces *dst by the IEs in b.
func (c *container[T]) decode(dst *T, b []byte) error {
	c.reset(dst)
	var seen uint64
	for len(b) > 0 {
		if len(b) < lenIE {
			return fail(c.name, truncatedType(b), fmt.Errorf("%d octets of an IE: %w", len(b), ErrLength))
		}
		ie, size := IEType(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))
		b = b[lenIE:]
		if size > len(b) {
			return fail(c.name, ie, fmt.Errorf("length %d with %d octets left: %w", size, len(b), ErrLength))
		}
		content := b[:size:size]
		b = b[size:]
		if ie > maxIEType || c.index[ie] == 0 {
			continue // unknown or unexpected: TS 29.244, 7.6.9
		}
		i := c.index[ie] - 1
		m := &c.members[i]
		if m.read == nil || seen&(1<<i) != 0 && !m.repeats {
			continue // of a repeated IE the first counts: TS 29.244, 7.6.10
		}
		seen |= 1 << i
		if size == 0 && c.removes(m) {
			c.remove(dst, ie)
			continue
		}
		if err := m.decode(dst, content); err != nil {
			return fail(c.name, ie, err)
		}
	}
	return c.complete(dst, seen)
}

// removes reports whether m of null length asks to remove a parameter. Grouped
// IEs cannot be removed so, and what is mandatory neither.
func (c *container[T]) removes(m *member[T]) bool {
	return c.removed != nil && m.min > 0 && m.presence != mandatory && m.state == decoded
}

func (c *container[T]) remove(dst *T, ie IEType) {
	if list := c.removed(dst); !slices.Contains(*list, ie) {
		*list = append(*list, ie)
	}
}

// decode reads one IE's content after a look at its length.
func (m *member[T]) decode(dst *T, content []byte) error {
	if len(content) < m.min || len(content) > m.max {
		return fmt.Errorf("%d octets: %w", len(content), ErrLength)
	}
	return m.read(dst, content)
}

// complete looks for what is missing.
func (c *container[T]) complete(dst *T, seen uint64) error {
	if missing := c.mandatory &^ seen; missing != 0 {
		for i := range c.members {
			if unless := c.members[i].unless; missing&(1<<i) != 0 && (unless == nil || !unless(dst)) {
				return fail(c.name, c.members[i].ie, ErrMissing)
			}
		}
	}
	if c.check == nil {
		return nil
	}
	return c.check(dst)
}

// append writes the IEs of *src in the order of the table.
func (c *container[T]) append(b []byte, src *T) []byte {
	for i := range c.members {
		if write := c.members[i].write; write != nil {
			b = write(b, src)
		}
	}
	if c.removed != nil {
		for _, ie := range *c.removed(src) {
			b = openIE(b, ie)
		}
	}
	return b
}

// zero empties what has no slices to keep.
func zero[T any](v *T) { *v = *new(T) }

// codec makes a grouped IE of the container.
func (c *container[T]) codec() codec[T] { return codec[T]{c.decode, c.append} }

// truncatedType returns the type of an IE of which less than type and length
// are there, or 0.
func truncatedType(b []byte) IEType {
	if len(b) < 2 {
		return 0
	}
	return IEType(binary.BigEndian.Uint16(b))
}

// openIE appends an IE's type and room for its length; closeIE fills it in.
func openIE(b []byte, ie IEType) []byte {
	return append(b, byte(ie>>8), byte(ie), 0, 0)
}

// closeIE sets the length of the IE whose content starts at start. [Append] detects a length beyond
// 16 bits, because the message is then too long as well.
func closeIE(b []byte, start int) []byte {
	binary.BigEndian.PutUint16(b[start-2:], uint16(len(b)-start))
	return b
}
