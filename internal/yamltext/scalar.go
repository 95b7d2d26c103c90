package yamltext

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Described is a type whose values are text of a form that is said after "want": "a bit
// rate, such as 600Mbit/s".
type Described interface{ Form() string }

// scalar decodes a plain or quoted scalar.
func (d *decoder) scalar(node ast.Node, key string, v reflect.Value) {
	text, ok := scalar(node)
	if !ok {
		d.wrong(node, key, "want %s", form(v, nil))
		return
	}
	if isPlain(v) && !plain(node) {
		d.wrong(node, key, "%q in quotes: want %s", text, form(v, nil))
		return
	}
	if err := set(v, text); err != nil {
		m := Mistake{position: positionOf(first(node)), Key: key, Text: fmt.Sprintf("%q: want %s", text, form(v, err))}
		if (v.CanInt() || v.CanUint()) && isPlain(v) && errors.Is(err, strconv.ErrRange) {
			m.given = text
		}
		d.keep(m)
	}
}

// isPlain says whether v is a number or a truth, which are not written in quotes.
func isPlain(v reflect.Value) bool {
	return (v.Kind() == reflect.Bool || v.CanInt() || v.CanUint() || v.CanFloat()) && !isText(v) && v.Type() != reflect.TypeFor[time.Duration]()
}

// plain says whether a scalar is written without quotes, and not as a block of text.
func plain(node ast.Node) bool {
	switch node.GetToken().Type {
	case token.SingleQuoteType, token.DoubleQuoteType, token.LiteralType, token.FoldedType:
		return false
	}
	return true
}

// scalar returns the text of a scalar.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	}
	return "", false
}

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// set parses text into v, which stays as it is if that is none; but of a number that it
// cannot hold it gets the nearest one, so that its range is checked as well.
func set(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *netip.Prefix:
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			*p = netip.PrefixFrom(a, a.BitLen()) // an address is a prefix of one
			return nil
		}
		return p.UnmarshalText([]byte(text))
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err == nil {
			*p = d
		}
		return err
	}
	switch k := v.Kind(); {
	case k == reflect.String:
		v.SetString(text)
	case k == reflect.Bool:
		is, err := truth(text)
		if err == nil {
			v.SetBool(is)
		}
		return err
	case v.CanInt():
		n, err := strconv.ParseInt(text, base(text), v.Type().Bits())
		if err == nil || errors.Is(err, strconv.ErrRange) {
			v.SetInt(n)
		}
		return err
	case v.CanUint():
		n, err := strconv.ParseUint(text, base(text), v.Type().Bits())
		if _, below := strconv.ParseInt(text, base(text), 64); err != nil && below == nil && text[0] == '-' {
			err = errNegative
		}
		if err == nil || errors.Is(err, strconv.ErrRange) {
			v.SetUint(n)
		}
		return err
	case v.CanFloat():
		f, err := strconv.ParseFloat(text, v.Type().Bits())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return strconv.ErrRange
		}
		if err == nil {
			v.SetFloat(f)
		}
		return err
	default:
		return fmt.Errorf("no way to read a %s", v.Type())
	}
	return nil
}

// errNegative is about a number below 0, where none can be.
var errNegative = fmt.Errorf("negative: %w", strconv.ErrRange)

// truth reads what YAML 1.2.2, 10.3.2, has for one.
func truth(text string) (bool, error) {
	switch text {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// base is that of a number: what its prefix 0x, 0o or 0b says, else 10. A number that begins
// with another 0 is decimal, not octal.
func base(text string) int {
	digits := strings.TrimLeft(text, "+-")
	if len(digits) > 1 && digits[0] == '0' && (digits[1] >= '0' && digits[1] <= '9') {
		return 10
	}
	return 0
}

// form says what a value of v's type looks like, which err said of one that is none.
func form(v reflect.Value, err error) string {
	switch p := v.Addr().Interface().(type) {
	case Described:
		return p.Form()
	case *netip.Addr:
		return "an IP address, such as 10.4.0.1"
	case *netip.AddrPort:
		return "an IP address and a port, such as 127.0.0.1:9090"
	case *netip.Prefix:
		return "a prefix, such as 10.4.0.0/24"
	case *time.Duration:
		return "a duration, such as 30s"
	case encoding.TextUnmarshaler:
		if err != nil {
			if _, allowed, ok := strings.Cut(err.Error(), ": want "); ok {
				return allowed
			}
			return fmt.Sprintf("another value (%v)", err)
		}
	}
	switch k := v.Kind(); {
	case k == reflect.Bool:
		return "true or false"
	case errors.Is(err, errNegative):
		return "a whole number from 0 on"
	case (v.CanInt() || v.CanUint()) && !errors.Is(err, strconv.ErrRange):
		return "a whole number" // its range is in the message about one that is out of it
	case v.CanInt():
		return fmt.Sprintf("a whole number, %d to %d", int64(math.MinInt64)>>(64-v.Type().Bits()), int64(math.MaxInt64)>>(64-v.Type().Bits()))
	case v.CanUint():
		return fmt.Sprintf("a whole number, 0 to %d", uint64(math.MaxUint64)>>(64-v.Type().Bits()))
	case v.CanFloat():
		return "a number, such as 0.5"
	}
	return "a word"
}

// listForm is a list of such elements.
func listForm(t reflect.Type) string {
	v := reflect.New(t).Elem()
	if p, ok := v.Addr().Interface().(Shortened); ok {
		v = reflect.ValueOf(p.Short()).Elem()
	}
	switch v.Interface().(type) {
	case netip.Addr:
		return "[10.4.0.1]"
	case netip.Prefix:
		return "[10.4.0.0/24]"
	}
	switch {
	case v.CanInt() || v.CanUint() || v.CanFloat():
		return "[1, 2]"
	case v.Kind() == reflect.String:
		return "[a, b]"
	case v.Kind() == reflect.Struct && !isText(v):
		return "[{key: value}]"
	}
	return "[…]"
}
