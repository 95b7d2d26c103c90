package pfcpsim

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// ErrValue is a value in a scenario that is none of the IE.
var ErrValue = errors.New("no such value")

var (
	addrType  = reflect.TypeFor[netip.Addr]()
	nameType  = reflect.TypeFor[pfcp.Name]()
	stampType = reflect.TypeFor[pfcp.TimeStamp]()
	timerType = reflect.TypeFor[pfcp.Timer]()
	bytesType = reflect.TypeFor[[]byte]()
)

// set gives v, the Go value of an IE's content or a part of it, the value that a
// scenario has for it: a scalar, or a mapping of the fields of a struct.
func set(v reflect.Value, value any) error {
	if optional(v) {
		v.FieldByName("Present").SetBool(true)
		return set(v.FieldByName("Value"), value)
	}
	if fields, ok := value.(yaml.MapSlice); ok {
		if v.Kind() != reflect.Struct {
			return bad(v, value)
		}
		return setFields(v, fields)
	}
	text := fmt.Sprint(value)
	switch v.Type() {
	case addrType:
		addr, err := netip.ParseAddr(text)
		v.Set(reflect.ValueOf(addr))
		return invalid(v, value, err)
	case nameType:
		v.Set(reflect.ValueOf(pfcp.NewName(text)))
		return nil
	case bytesType:
		b, err := octets(text)
		v.SetBytes(b)
		return invalid(v, value, err)
	case stampType:
		return setStamp(v, text)
	case timerType:
		if d, err := time.ParseDuration(text); err == nil {
			v.SetUint(uint64(pfcp.NewTimer(d)))
			return nil
		}
	}
	if done, err := setNamed(v, text); done {
		return err
	}
	return setPlain(v, value)
}

// setPlain sets numbers, truths, lists and structs that are given as one scalar.
func setPlain(v reflect.Value, value any) error {
	switch v.Kind() {
	case reflect.Bool:
		on, err := strconv.ParseBool(fmt.Sprint(value))
		v.SetBool(on)
		return invalid(v, value, err)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(fmt.Sprint(value), 0, v.Type().Bits())
		v.SetUint(n)
		return invalid(v, value, err)
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i := range list {
			if err := set(v.Index(i), list[i]); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		return setShort(v, value)
	}
	return bad(v, value)
}

func setStamp(v reflect.Value, text string) error {
	if text == "now" {
		v.SetUint(uint64(pfcp.NewTimeStamp(time.Now())))
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil { // from now
		v.SetUint(uint64(pfcp.NewTimeStamp(time.Now().Add(d))))
		return nil
	}
	return setPlain(v, text)
}

// setShort sets a struct for which one scalar says enough.
func setShort(v reflect.Value, value any) error {
	text := fmt.Sprint(value)
	switch p := v.Addr().Interface().(type) {
	case *pfcp.NodeID:
		if addr, err := netip.ParseAddr(text); err == nil {
			p.Addr = addr
		} else {
			p.FQDN = pfcp.NewName(text)
		}
	case *pfcp.FTEID:
		if text != "choose" {
			return bad(v, value)
		}
		p.CH, p.V4 = true, true
	case *pfcp.UEIPAddress:
		return setUEIPAddress(p, text)
	case *pfcp.SDFFilter:
		p.FlowDescription = []byte(text)
	case *pfcp.OuterHeaderRemoval:
		return set(v.FieldByName("Description"), value)
	case *pfcp.Volume:
		return set(v.FieldByName("Total"), value)
	case *pfcp.RemoteGTPUPeer:
		return setAddrs(text, &p.IPv4, &p.IPv6)
	case *pfcp.CPAddress:
		return setAddrs(text, &p.IPv4, &p.IPv6)
	default:
		return bad(v, value)
	}
	return nil
}

func setUEIPAddress(p *pfcp.UEIPAddress, text string) error {
	switch text {
	case "choose":
		p.CHV4 = true
		return nil
	case "choose6":
		p.CHV6 = true
		return nil
	}
	return setAddrs(text, &p.IPv4, &p.IPv6)
}

func setAddrs(text string, ipv4, ipv6 *netip.Addr) error {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrValue)
	}
	if addr.Is4() {
		*ipv4 = addr
	} else {
		*ipv6 = addr
	}
	return nil
}

// setFields sets the fields of a struct by name, whatever its case.
func setFields(v reflect.Value, fields yaml.MapSlice) error {
	for _, item := range fields {
		key := fold(fmt.Sprint(item.Key))
		field := v.FieldByNameFunc(func(name string) bool { return fold(name) == key })
		if !field.IsValid() {
			return fmt.Errorf("%s has no field %v: %w", v.Type().Name(), item.Key, ErrValue)
		}
		if err := set(field, item.Value); err != nil {
			return fmt.Errorf("%v: %w", item.Key, err)
		}
	}
	complete(v)
	return nil
}

// complete sets what follows from the fields that were given.
func complete(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *pfcp.OuterHeaderCreation:
		if p.Description != 0 {
			return
		}
		if p.IPv4.IsValid() {
			p.Description |= pfcp.CreateGTPUUDPIPv4
		}
		if p.IPv6.IsValid() {
			p.Description |= pfcp.CreateGTPUUDPIPv6
		}
	case *pfcp.FTEID:
		if p.CH && !p.V4 && !p.V6 {
			p.V4 = true
		}
	}
}

// optional reports whether v is a [pfcp.Optional].
func optional(v reflect.Value) bool {
	return v.Kind() == reflect.Struct && strings.HasPrefix(v.Type().Name(), "Optional[")
}

// fold is how names of fields are compared.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

func bad(v reflect.Value, value any) error {
	return fmt.Errorf("%v for a value of type %s: %w", value, v.Type().Name(), ErrValue)
}

func invalid(v reflect.Value, value any, err error) error {
	if err == nil {
		return nil
	}
	return bad(v, value)
}

// octets reads "0x…" as hex, and all else as text.
func octets(text string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		return hex.DecodeString(digits)
	}
	return []byte(text), nil
}

// view returns v, the Go value of an IE's content, as scenarios and JSON have
// it: a string, a number, a truth, or a list or mapping of such. Fields that are
// absent or zero are left out of mappings.
func view(v reflect.Value) any {
	if optional(v) {
		v = v.FieldByName("Value")
	}
	switch v.Type() {
	case addrType:
		return v.Interface().(netip.Addr).String()
	case nameType:
		return v.Interface().(pfcp.Name).String()
	case bytesType:
		return text(v.Bytes())
	case timerType:
		return v.Interface().(pfcp.Timer).Duration().String()
	}
	if name, ok := named(v); ok {
		return name
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = view(v.Index(i))
		}
		return list
	case reflect.Struct:
		return viewFields(v)
	}
	return v.Uint()
}

func viewFields(v reflect.Value) any {
	if node, ok := v.Interface().(pfcp.NodeID); ok {
		return node.String()
	}
	fields := yaml.MapSlice{}
	for i := range v.NumField() {
		field := v.Field(i)
		if optional(field) && !field.FieldByName("Present").Bool() || !optional(field) && empty(field) {
			continue
		}
		fields = append(fields, yaml.MapItem{Key: snake(v.Type().Field(i).Name), Value: view(field)})
	}
	return fields
}

// empty reports whether a field is left out: zero, unless zero has a name.
func empty(v reflect.Value) bool {
	if _, ok := enums[v.Type()]; ok {
		return false
	}
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// snake writes UplinkKbps as uplink_kbps, and IPv6Length as ipv6_length.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(strings.ReplaceAll(name, "IPv", "Ipv"))
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// text shows octets as they are if all can be printed, else as hex.
func text(b []byte) string {
	if bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r > '~' }) < 0 && !bytes.HasPrefix(b, []byte("0x")) {
		return string(b)
	}
	return "0x" + hex.EncodeToString(b)
}
