package bmv2

import (
	"encoding/json"
	"fmt"
	"math/big"
)

// ok is what a parser operation gives if there is no error.
const ok int32 = -1

// accept is the state in which a parser ends.
const accept = -1

// parserOp does something, and gives the number of an error or ok.
type parserOp func(c *ctx) int32

// parseState is a compiled state.
type parseState struct {
	ops []parserOp
	// key gives the words that select by; parts are their widths.
	key   []parserKey
	only  int // the word that is the key, or -1
	words int
	// cases are tried in order: words of values, then of masks.
	cases   []parseCase
	hasElse bool
	other   int // the state of the default transition
}

type parserKey struct {
	off   int                  // a word, into word at shift; or -1
	fn    func(*ctx) uint64    // the same, of what is no word
	wide  func(*ctx, []uint64) // into words from word on
	ahead int                  // bits that have to be there, for lookahead
	word  int
	shift int
	width int
}

type parseCase struct {
	first, firstMask uint64 // the first words of value and mask

	value, mask []uint64
	next        int
}

// parser is the compiled parser.
type parser struct {
	init   int
	states []parseState

	noError, tooShort, noMatch, outOfBounds, headerTooShort, invalidArgument int32
}

// parse lets a packet through the parser.
func (c *ctx) parse() {
	p := &c.s.p.parser
	c.parsErr = p.noError
	state := p.init
	for n := 0; state != accept; n++ {
		if n >= maxParserStates {
			c.stop(DropParser)
			break
		}
		s := &p.states[state]
		for _, op := range s.ops {
			if err := op(c); err != ok {
				c.parsErr = err
				return
			}
		}
		if len(s.key) == 0 {
			state = s.other
			continue
		}
		next, err := s.next(c)
		if err != ok {
			c.parsErr = err
			return
		}
		state = next
	}
}

// next selects the state that follows.
func (s *parseState) next(c *ctx) (int, int32) {
	if s.only >= 0 {
		return s.of(c, c.f[s.only])
	}
	key := c.key[:s.words]
	clear(key)
	for i := range s.key {
		k := &s.key[i]
		if k.ahead > 0 && 8*(len(c.data)-c.pos) < k.ahead {
			return 0, c.s.p.parser.tooShort
		}
		if k.off >= 0 {
			key[k.word] |= c.f[k.off] << (uint(k.shift) & 63)
			continue
		}
		if k.wide != nil {
			k.wide(c, key[k.word:])
			continue
		}
		key[k.word] |= k.fn(c) << uint(k.shift)
	}
	if s.words == 1 {
		return s.of(c, key[0])
	}
	for i := range s.cases {
		if s.cases[i].matches(key) {
			return s.cases[i].next, ok
		}
	}
	return s.none(c)
}

// of is next for a key of one word.
func (s *parseState) of(c *ctx, word uint64) (int, int32) {
	for i := range s.cases {
		if k := &s.cases[i]; word&k.firstMask == k.first {
			return k.next, ok
		}
	}
	return s.none(c)
}

// none is the state that follows if no case is the packet's.
func (s *parseState) none(c *ctx) (int, int32) {
	if !s.hasElse {
		return 0, c.s.p.parser.noMatch
	}
	return s.other, ok
}

func (k *parseCase) matches(key []uint64) bool {
	for w := range key {
		if key[w]&k.mask[w] != k.value[w] {
			return false
		}
	}
	return true
}

// loadParser compiles the parser's states.
func (l *loader) loadParser() error {
	l.p.parser.init = accept
	if len(l.j.Parsers) > 1 {
		return fmt.Errorf("%w: %d parsers", ErrUnsupported, len(l.j.Parsers))
	}
	if len(l.j.Parsers) == 0 {
		return nil
	}
	j := &l.j.Parsers[0]
	states, _, err := names("parser state", j.States, func(s *jsonParseState) jsonNamed { return s.jsonNamed })
	if err != nil {
		return err
	}
	if len(j.States) > maxStates {
		return fmt.Errorf("parser: %d states, more than %d", len(j.States), maxStates)
	}
	for i := range j.States {
		s, err := l.state(&j.States[i], states)
		if err != nil {
			return fmt.Errorf("parser state %q: %w", j.States[i].Name, err)
		}
		l.p.parser.states = append(l.p.parser.states, s)
	}
	if j.InitState != "" {
		init, there := states[j.InitState]
		if !there {
			return fmt.Errorf("parser: no state %q", j.InitState)
		}
		l.p.parser.init = init
	}
	return nil
}

func (l *loader) state(j *jsonParseState, states map[string]int) (parseState, error) {
	s := parseState{other: accept, only: -1}
	for i := range j.Ops {
		op, err := l.parserOp(&j.Ops[i])
		if err != nil {
			return s, fmt.Errorf("parser op %q: %w", j.Ops[i].Op, err)
		}
		s.ops = append(s.ops, op)
	}
	var lay layout
	var refs []paramRef
	for i := range j.Key {
		k, err := l.parserKey(&j.Key[i])
		if err != nil {
			return s, fmt.Errorf("transition key: %w", err)
		}
		r := lay.add(k.width)
		k.word, k.shift = r.word, r.shift
		refs = append(refs, r)
		s.key = append(s.key, k)
	}
	if len(s.key) == 1 {
		s.only = s.key[0].off
	}
	if s.words = lay.words; s.words > maxKeyWords {
		return s, fmt.Errorf("transition key of more than %d words", maxKeyWords)
	}
	for i := range j.Transitions {
		if err := l.transition(&s, &j.Transitions[i], refs, states); err != nil {
			return s, fmt.Errorf("transition %d: %w", i, err)
		}
	}
	return s, nil
}

// parserKey is a part of what a state selects by.
func (l *loader) parserKey(v *jsonValue) (parserKey, error) {
	if v.Type == "lookahead" {
		bit, width, err := lookahead(v)
		k := parserKey{off: -1, ahead: bit + width, width: width}
		if width > 64 {
			k.wide = func(c *ctx, to []uint64) { ahead(c, bit, width, to[:(width+63)/64]) }
		}
		k.fn = func(c *ctx) uint64 { return loadBits(c.data[c.pos:], bit, width) }
		if at, down, m := bit/8, 7-(bit+width-1)%8, mask64(width); at == (bit+width-1)/8 {
			k.fn = func(c *ctx) uint64 { return uint64(c.data[c.pos+at]) >> down & m }
		}
		return k, err
	}
	if v.Type != "field" && v.Type != "stack_field" {
		return parserKey{}, fmt.Errorf("%w: value of type %q", ErrUnsupported, v.Type)
	}
	n, err := l.value(v, 0)
	if err != nil {
		return parserKey{}, err
	}
	k := parserKey{off: -1, width: 1}
	if n.f != nil {
		k.width = n.f.width
	}
	if k.width > 64 {
		fn, err := l.wide(n, n.f.words)
		k.wide = func(c *ctx, to []uint64) { fn(c, to[:n.f.words]) }
		return k, err
	}
	w, err := l.word(n, k.width)
	if w.isField && !n.f.signed {
		k.off = w.off
	}
	fn, m := w.fn, mask64(k.width)
	k.fn = func(c *ctx) uint64 { return fn(c) & m }
	return k, err
}

// lookahead is a tuple of an offset and a width in bits.
func lookahead(v *jsonValue) (bit, width int, err error) {
	var pair []int
	if json.Unmarshal(v.Value, &pair) != nil || len(pair) != 2 || pair[0] < 0 || pair[0] > 8*MaxFrame ||
		pair[1] < 1 || pair[1] > maxFieldWidth {
		return 0, 0, fmt.Errorf("lookahead %.60s is not an offset and a width", v.Value)
	}
	return pair[0], pair[1], nil
}

// ahead reads bits that were not parsed.
func ahead(c *ctx, bit, width int, to []uint64) {
	for i := range to {
		end := bit + width - 64*i
		n := min(64, width-64*i)
		to[i] = loadBits(c.data[c.pos:], end-n, n)
	}
}

func (l *loader) transition(s *parseState, j *jsonTransition, refs []paramRef, states map[string]int) error {
	next := accept
	if j.NextState != nil {
		var there bool
		if next, there = states[*j.NextState]; !there {
			return fmt.Errorf("no state %q", *j.NextState)
		}
	}
	typ := j.Type
	if typ == "" { // as in files of before 2.5
		typ = "hexstr"
		if j.Value == nil || *j.Value == "default" {
			typ = "default"
		}
	}
	switch typ {
	case "default":
		s.hasElse, s.other = true, next
		return nil
	case "hexstr":
	case "parse_vset":
		return fmt.Errorf("%w: parser value set", ErrUnsupported)
	default:
		return fmt.Errorf("%w: type %q", ErrUnsupported, typ)
	}
	if j.Value == nil || len(refs) == 0 {
		return fmt.Errorf("there is no value, or no key")
	}
	value, err := hexValue(*j.Value)
	if err != nil {
		return err
	}
	mask := ones(maxExprBits)
	if j.Mask != nil {
		if mask, err = hexValue(*j.Mask); err != nil {
			return err
		}
	}
	k := parseCase{value: make([]uint64, s.words), mask: make([]uint64, s.words), next: next}
	// From the last part on: each is padded to whole octets.
	at := uint(0)
	for i := len(refs) - 1; i >= 0; i-- {
		n := (refs[i].width + 7) / 8 * 8
		part := func(of *big.Int) []uint64 {
			v := new(big.Int).And(new(big.Int).Rsh(of, at), ones(refs[i].width))
			return words(v, (n+63)/64)
		}
		refs[i].put(k.value, part(new(big.Int).And(value, mask)))
		refs[i].put(k.mask, part(mask))
		at += uint(n)
	}
	if value.Sign() < 0 || value.BitLen() > int(at) {
		return fmt.Errorf("value %s has more than the %d bits of the key", *j.Value, at)
	}
	k.first, k.firstMask = k.value[0], k.mask[0]
	s.cases = append(s.cases, k)
	return nil
}
