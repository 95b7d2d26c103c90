package pfcp

// one is a mandatory IE that occurs once.
func one[T, V any](ie IEType, get func(*T) *V, c codec[V]) member[T] {
	return member[T]{
		ie: ie, presence: mandatory, state: decoded,
		read: func(dst *T, content []byte) error { return c.read(get(dst), content) },
		write: func(b []byte, src *T) []byte {
			b = openIE(b, ie)
			start := len(b)
			return closeIE(c.write(b, get(src)), start)
		},
	}
}

// exempt is a mandatory IE that may be absent if unless reports true.
func exempt[T any](m member[T], unless func(*T) bool) member[T] {
	m.unless = unless
	return m
}

// opt is an IE that may be absent.
func opt[T, V any](ie IEType, p presence, get func(*T) *Optional[V], c codec[V]) member[T] {
	return member[T]{
		ie: ie, presence: p, state: decoded,
		read: func(dst *T, content []byte) error {
			o := get(dst)
			o.Present = true
			return c.read(&o.Value, content)
		},
		write: func(b []byte, src *T) []byte {
			o := get(src)
			if !o.Present {
				return b
			}
			b = openIE(b, ie)
			start := len(b)
			return closeIE(c.write(b, &o.Value), start)
		},
	}
}

// some is an IE that may occur up to limit times.
func some[T, V any](ie IEType, p presence, limit int, get func(*T) *[]V, c codec[V]) member[T] {
	return member[T]{
		ie: ie, presence: p, state: decoded, repeats: true, limit: limit,
		read: func(dst *T, content []byte) error {
			list := get(dst)
			if len(*list) == limit {
				return ErrTooMany
			}
			return c.read(grow(list), content)
		},
		write: func(b []byte, src *T) []byte {
			list := *get(src)
			for i := range list {
				b = openIE(b, ie)
				start := len(b)
				b = closeIE(c.write(b, &list[i]), start)
			}
			return b
		},
	}
}

// grow lengthens a list by one element, which keeps what it has from earlier
// use, so that a codec can use slices inside it again.
func grow[V any](list *[]V) *V {
	if n := len(*list); n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		var zero V
		*list = append(*list, zero)
	}
	return &(*list)[len(*list)-1]
}

// octets is an IE whose content is kept undecoded. It is absent if empty.
func octets[T any, V ~[]byte](ie IEType, p presence, get func(*T) *V) member[T] {
	return member[T]{
		ie: ie, presence: p, state: decoded,
		read: func(dst *T, content []byte) error {
			*get(dst) = content
			return nil
		},
		write: func(b []byte, src *T) []byte {
			v := *get(src)
			if len(v) == 0 {
				return b
			}
			b = openIE(b, ie)
			start := len(b)
			return closeIE(append(b, v...), start)
		},
	}
}

// note is an IE that is not decoded but must not be overlooked: the type of
// the first of them is kept, for the rule to be refused. It is written without
// content.
func note[T any](ie IEType, p presence, get func(*T) *IEType) member[T] {
	return member[T]{
		ie: ie, presence: p, state: noted, repeats: true,
		read: func(dst *T, _ []byte) error {
			if first := get(dst); *first == 0 {
				*first = ie
			}
			return nil
		},
		write: func(b []byte, src *T) []byte {
			if *get(src) != ie {
				return b
			}
			return openIE(b, ie)
		},
	}
}

// refuse is an IE that is decoded, so that it can be shown and sent, but that
// this UP function does not do: its type is kept as [note] does.
func refuse[T any](m member[T], get func(*T) *IEType) member[T] {
	read := m.read
	m.state, m.decoded = noted, true
	m.read = func(dst *T, content []byte) error {
		if first := get(dst); *first == 0 {
			*first = m.ie
		}
		return read(dst, content)
	}
	return m
}

// listOf is a grouped IE that holds nothing but a list. It is absent if that is
// empty.
func listOf[T, V any](ie IEType, c *container[[]V], get func(*T) *[]V) member[T] {
	return member[T]{
		ie: ie, presence: conditional, state: decoded,
		read: func(dst *T, content []byte) error { return c.decode(get(dst), content) },
		write: func(b []byte, src *T) []byte {
			if len(*get(src)) == 0 {
				return b
			}
			b = openIE(b, ie)
			start := len(b)
			return closeIE(c.append(b, get(src)), start)
		},
	}
}

// flags is an IE of one octet of flags, absent if none is set.
func flags[T any, V ~uint8](ie IEType, p presence, get func(*T) *V) member[T] {
	c := u8[V]()
	return member[T]{
		ie: ie, presence: p, state: decoded,
		read: func(dst *T, content []byte) error { return c.read(get(dst), content) },
		write: func(b []byte, src *T) []byte {
			if *get(src) == 0 {
				return b
			}
			return append(b, byte(ie>>8), byte(ie), 0, 1, byte(*get(src)))
		},
	}
}

// skip is an IE that is allowed here and ignored.
func skip[T any](ie IEType, p presence) member[T] {
	return member[T]{ie: ie, presence: p, state: skipped, repeats: true}
}
