package pfcpsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Text writes IEs one to a line, groups indented, as scenarios have them.
func Text(nodes []Node) string {
	var b strings.Builder
	writeNodes(&b, nodes, "")
	return b.String()
}

func writeNodes(b *strings.Builder, nodes []Node, indent string) {
	for _, n := range nodes {
		if n.Value == nil && pfcp.IsGrouped(n.Type) {
			fmt.Fprintf(b, "%s%s:\n", indent, n.Type)
			writeNodes(b, n.Children, indent+"  ")
			continue
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, n.Type, inline(n.view()))
	}
}

// inline writes a value on one line.
func inline(v any) string {
	switch v := v.(type) {
	case yaml.MapSlice:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = fmt.Sprintf("%v: %s", item.Key, inline(item.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = inline(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// Message is a message that was sent or received.
type Message struct {
	Header pfcp.Header
	IEs    []Node
	Sent   bool // by the simulator
}

// NewMessage takes the first message of a datagram apart.
//
// Errors: those of [pfcp.Parse].
func NewMessage(datagram []byte, sent bool) (Message, error) {
	h, body, _, err := pfcp.Parse(datagram)
	if err != nil {
		return Message{}, err
	}
	return Message{Header: h, IEs: ParseNodes(bytes.Clone(body)), Sent: sent}, nil
}

// String writes the message as text, its IEs below its header.
func (m Message) String() string {
	var b strings.Builder
	arrow := "<-"
	if m.Sent {
		arrow = "->"
	}
	fmt.Fprintf(&b, "%s %s, sequence number %d", arrow, m.Header.Type, m.Header.Sequence)
	if m.Header.S {
		fmt.Fprintf(&b, ", SEID %#x", m.Header.SEID)
	}
	b.WriteString("\n")
	writeNodes(&b, m.IEs, "   ")
	return b.String()
}

// MarshalJSON writes type, sequence number, SEID and IEs. IEs of one type that
// stand several times are a list.
func (m Message) MarshalJSON() ([]byte, error) {
	out := struct {
		Sent     bool            `json:"sent"`
		Message  string          `json:"message"`
		Sequence uint32          `json:"sequence"`
		SEID     *uint64         `json:"seid,omitempty"`
		IEs      json.RawMessage `json:"ies"`
	}{Sent: m.Sent, Message: m.Header.Type.String(), Sequence: m.Header.Sequence}
	if m.Header.S {
		out.SEID = &m.Header.SEID
	}
	var err error
	if out.IEs, err = appendJSON(nil, View(m.IEs)); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// appendJSON writes mappings in their order.
func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case yaml.MapSlice:
		b = append(b, '{')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			key, err := json.Marshal(fmt.Sprint(item.Key))
			if err != nil {
				return nil, err
			}
			b = append(append(b, key...), ':')
			if b, err = appendJSON(b, item.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case repeated:
		return appendJSON(b, []any(v))
	case []any:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendJSON(b, v[i]); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	one, err := json.Marshal(v)
	return append(b, one...), err
}
