package bmv2

import (
	"fmt"
	"math/big"
)

// want checks the kinds of operands; l may be absent for operators of one.
func (n *node) want(l, r kind, unary bool) error {
	switch {
	case !unary && n.l == nil:
		return fmt.Errorf("left is missing")
	case !unary && n.l.kind != l, n.r.kind != r:
		return fmt.Errorf("an operand is of the wrong kind")
	}
	return nil
}

// infer checks the operands of an operation and finds what kind it is and, for data, its range.
func (n *node) infer() error {
	switch n.op {
	case "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "two_comp_mod", "usat_cast", "sat_cast":
		if err := n.want(kindData, kindData, false); err != nil {
			return err
		}
		return n.inferBinary()
	case "~":
		if err := n.want(kindData, kindData, true); err != nil {
			return err
		}
		n.lo, n.hi = new(big.Int).Not(n.r.hi), new(big.Int).Not(n.r.lo)
		return n.bounded()
	case "?":
		return n.inferTernary()
	case "b2d":
		n.lo, n.hi = bigZero, bigOne
		return n.want(kindBool, kindBool, true)
	case "d2b":
		n.kind = kindBool
		return n.want(kindData, kindData, true)
	case "not":
		n.kind = kindBool
		return n.want(kindBool, kindBool, true)
	case "and", "or":
		n.kind = kindBool
		return n.want(kindBool, kindBool, false)
	case ">", "<", ">=", "<=":
		n.kind = kindBool
		return n.want(kindData, kindData, false)
	case "==", "!=":
		n.kind = kindBool
		if n.r.kind == kindStack {
			return fmt.Errorf("%w: comparing header stacks", ErrUnsupported)
		}
		return n.want(n.r.kind, n.r.kind, false)
	case "valid":
		n.kind = kindBool
		return n.want(kindHeader, kindHeader, true)
	case "dereference_header_stack", "dereference_stack":
		if err := n.want(kindStack, kindData, false); err != nil {
			return err
		}
		n.op, n.kind, n.stk = "element", kindHeader, n.l.stk
		return nil
	case "last_stack_index", "size_stack":
		if err := n.want(kindStack, kindStack, true); err != nil {
			return err
		}
		n.stk = n.r.stk
		n.lo, n.hi = big.NewInt(-1), big.NewInt(maxStack)
		if n.op == "size_stack" {
			n.lo = bigZero
		}
		return nil
	}
	return fmt.Errorf("%w: expression operator", ErrUnsupported)
}

func (n *node) inferTernary() error {
	if n.cond == nil || n.cond.kind != kindBool || n.l == nil || n.l.kind != n.r.kind || n.r.kind > kindBool {
		return fmt.Errorf("operands are missing or of the wrong kind")
	}
	if n.kind = n.r.kind; n.kind == kindData {
		n.lo, n.hi = minBig(n.l.lo, n.r.lo), maxBig(n.l.hi, n.r.hi)
	}
	return nil
}

// inferBinary finds the range of arithmetic.
func (n *node) inferBinary() error {
	a, b := n.l, n.r
	nonneg := a.lo.Sign() >= 0 && b.lo.Sign() >= 0
	switch n.op {
	case "+":
		n.lo, n.hi = new(big.Int).Add(a.lo, b.lo), new(big.Int).Add(a.hi, b.hi)
	case "-":
		n.lo, n.hi = new(big.Int).Sub(a.lo, b.hi), new(big.Int).Sub(a.hi, b.lo)
	case "*":
		n.lo, n.hi = nil, nil
		for _, x := range []*big.Int{a.lo, a.hi} {
			for _, y := range []*big.Int{b.lo, b.hi} {
				v := new(big.Int).Mul(x, y)
				n.lo, n.hi = minBig(n.lo, v), maxBig(n.hi, v)
			}
		}
	case "/", "%":
		if !nonneg {
			return fmt.Errorf("%w: division of what may be negative", ErrUnsupported)
		}
		n.lo, n.hi = bigZero, a.hi
		if n.op == "%" {
			n.hi = minBig(a.hi, b.hi)
		}
	case "&", "|", "^":
		n.inferBitwise(nonneg)
	case "<<", ">>":
		return n.inferShift()
	case "two_comp_mod", "usat_cast", "sat_cast":
		w, err := n.castWidth()
		if err != nil {
			return err
		}
		if n.op == "usat_cast" {
			n.lo, n.hi = bigZero, ones(w)
		} else {
			n.lo, n.hi = new(big.Int).Neg(pow2(w-1)), ones(w-1)
		}
	}
	return n.bounded()
}

func (n *node) inferBitwise(nonneg bool) {
	a, b := n.l, n.r
	bits := max(signedBits(a.lo, a.hi), signedBits(b.lo, b.hi)) - 1
	switch {
	case n.op == "&" && nonneg:
		n.lo, n.hi = bigZero, minBig(a.hi, b.hi)
	case n.op == "&" && a.lo.Sign() >= 0:
		n.lo, n.hi = bigZero, a.hi
	case n.op == "&" && b.lo.Sign() >= 0:
		n.lo, n.hi = bigZero, b.hi
	case nonneg:
		n.lo, n.hi = bigZero, ones(bits)
	default:
		n.lo, n.hi = new(big.Int).Neg(pow2(bits)), ones(bits)
	}
}

// inferShift finds the range of a shift. A left shift by a variable may be unbounded; the size of
// the range then shows this, and it can be compiled only where few of the lowest bits matter.
func (n *node) inferShift() error {
	a, b := n.l, n.r
	if b.lo.Sign() < 0 {
		return fmt.Errorf("%w: shift by what may be negative", ErrUnsupported)
	}
	by := func(v *big.Int) uint {
		if !v.IsInt64() || v.Int64() > maxExprBits {
			return maxExprBits
		}
		return uint(v.Int64())
	}
	small, great := by(b.lo), by(b.hi)
	shift := func(v *big.Int, far bool) *big.Int {
		s := small
		if far {
			s = great
		}
		if n.op == "<<" {
			return new(big.Int).Lsh(v, s)
		}
		return new(big.Int).Rsh(v, s)
	}
	left := n.op == "<<"
	n.lo = shift(a.lo, (a.lo.Sign() < 0) == left)
	n.hi = shift(a.hi, (a.hi.Sign() >= 0) == left)
	if bits := signedBits(a.lo, a.hi); bits > maxExprBits {
		return fmt.Errorf("%w: value of more than %d bits", ErrUnsupported, maxExprBits)
	}
	return nil
}

// castWidth is the width of a cast, which has to be constant.
func (n *node) castWidth() (int, error) {
	if n.r.op != "const" || !n.r.k.IsInt64() || n.r.k.Int64() < 1 || n.r.k.Int64() > maxFieldWidth {
		return 0, fmt.Errorf("width of a cast is not a constant within 1 and %d", maxFieldWidth)
	}
	return int(n.r.k.Int64()), nil
}

func (n *node) bounded() error {
	// A shift before may have gone beyond the bound; it must not grow further.
	if signedBits(n.lo, n.hi) > 3*maxExprBits {
		return fmt.Errorf("%w: value of more than %d bits", ErrUnsupported, maxExprBits)
	}
	return nil
}

func minBig(a, b *big.Int) *big.Int {
	if a == nil || b.Cmp(a) < 0 {
		return b
	}
	return a
}

func maxBig(a, b *big.Int) *big.Int {
	if a == nil || b.Cmp(a) > 0 {
		return b
	}
	return a
}

// signedBits is how many bits a number in two's complement needs for this range.
func signedBits(lo, hi *big.Int) int {
	n := hi.BitLen() + 1
	if lo.Sign() < 0 {
		n = max(n, new(big.Int).Not(lo).BitLen()+1)
	}
	return n
}

// unsigned64 tells whether all values are words, signed64 whether all are signed words.
func (n *node) unsigned64() bool { return n.lo.Sign() >= 0 && n.hi.BitLen() <= 64 }

func (n *node) signed64() bool { return signedBits(n.lo, n.hi) <= 64 }

func (n *node) narrow() bool { return n.unsigned64() || n.signed64() }

// exactWords is how many words a number in two's complement needs.
func (n *node) exactWords() int { return (signedBits(n.lo, n.hi) + 63) / 64 }

// within tells whether no value has a bit beyond width.
func (n *node) within(width int) bool { return n.lo.Sign() >= 0 && n.hi.BitLen() <= width }
