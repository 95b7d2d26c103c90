// Package wire is what the two sides of the bus over Redis agree on: keys,
// scripts, and how the messages of datapath/api/bus.proto are read.
//
// Keys of an agent, each with the prefix "PREFIX:{AGENT}:":
//
//	head          hash: which control plane writes, and its last version
//	desired       hash: SEID -> api.Desired, what the agent is to hold
//	changes       stream of api.Batch, what came to it since
//	replies       stream of api.Replies
//	events        stream of api.Events
//	acknowledged  api.Acknowledged, which of them have been dealt with
//	owner         instance of the agent's process
//	alive         api.Alive, expires unless renewed
//
// The braces keep the keys of an agent in one slot of a Redis cluster.
//
// Whoever can write to Redis can say what the datapath forwards, so access to
// it has to be as restricted as that to the machines. What is read from it is
// parsed before it is used all the same.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Times that both sides go by.
const (
	AliveExpiry   = 3 * time.Second // without sign of life an agent is down
	AliveInterval = time.Second     // between signs of life
	BlockTime     = time.Second     // that a read waits for news
)

// Lengths of the streams; older entries are cut off.
const (
	ChangesMax = 2000
	RepliesMax = 2000
	EventsMax  = 4096 // entries that have not been dealt with
)

// Field is the only field of an entry of a stream.
const Field = "b"

// DefaultPrefix of all keys.
const DefaultPrefix = "plumbline"

// Keys are those of one agent.
type Keys struct {
	Head, Desired, Changes, Replies, Events, Acknowledged, Owner, Alive string
}

// KeysOf returns the keys of an agent.
func KeysOf(prefix, agent string) Keys {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	k := prefix + ":{" + agent + "}:"
	return Keys{
		Head: k + "head", Desired: k + "desired", Changes: k + "changes", Replies: k + "replies",
		Events: k + "events", Acknowledged: k + "acknowledged", Owner: k + "owner", Alive: k + "alive",
	}
}

// ValidAgent says whether name can be an agent's: letters, digits, '-', '_' and
// '.', at most 63.
func ValidAgent(name string) bool {
	if name == "" || len(name) > 63 {
		return false
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.') {
			return false
		}
	}
	return true
}

// Head is the hash of that name.
type Head struct {
	// Epoch is the control plane's: a later one has a higher one, and one that
	// had to write all anew gets itself another.
	Epoch uint64
	// Version is that of the last change.
	Version uint64
	// Complete: desired has everything. An agent must not conclude from what is
	// missing otherwise.
	Complete bool
}

// HeadFields are the fields of the head as [ParseHead] wants them.
var HeadFields = []string{"epoch", "version", "complete"}

// ErrMessage is wrapped by all errors about what Redis has.
var ErrMessage = errors.New("not a message of the bus")

// ParseHead reads what HMGET of [HeadFields] returned; a head that is not there
// is the zero value.
func ParseHead(values []any) (Head, error) {
	var h Head
	if len(values) != len(HeadFields) {
		return h, fmt.Errorf("head of %d fields: %w", len(values), ErrMessage)
	}
	if values[0] == nil {
		return h, nil
	}
	var n [3]uint64
	for i, v := range values {
		s, ok := v.(string)
		if !ok {
			return h, fmt.Errorf("head without %s: %w", HeadFields[i], ErrMessage)
		}
		var err error
		if n[i], err = strconv.ParseUint(s, 10, 63); err != nil { // so there are always higher ones
			return h, fmt.Errorf("%s %q of head: %w", HeadFields[i], s, ErrMessage)
		}
	}
	return Head{Epoch: n[0], Version: n[1], Complete: n[2] == 1}, nil
}

// Number is n as the scripts compare it: as text.
func Number(n uint64) string { return fmt.Sprintf("%020d", n) }

// SEIDField is the field of a session in the hash desired.
func SEIDField(seid uint64) string { return string(binary.BigEndian.AppendUint64(nil, seid)) }

// ParseSEIDField is the inverse of [SEIDField].
func ParseSEIDField(s string) (uint64, error) {
	if len(s) != 8 {
		return 0, fmt.Errorf("field of %d octets: %w", len(s), ErrMessage)
	}
	seid := binary.BigEndian.Uint64([]byte(s))
	if seid == 0 {
		return 0, fmt.Errorf("SEID 0: %w", ErrMessage)
	}
	return seid, nil
}

// Entry reads the message of an entry of a stream.
func Entry(values map[string]any, m proto.Message) error {
	if n, ok := values[Field].(int64); ok { // see [Read]
		return fmt.Errorf("entry of %d octets: %w", n, ErrMessage)
	}
	s, ok := values[Field].(string)
	if !ok {
		return fmt.Errorf("entry without %q: %w", Field, ErrMessage)
	}
	return Unmarshal(s, m)
}

// Unmarshal reads a message.
func Unmarshal(s string, m proto.Message) error {
	if err := proto.Unmarshal([]byte(s), m); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return nil
}

// Marshal is the message as octets; equal messages have equal ones.
func Marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// ParseBatch reads an entry of changes, and checks that its versions ascend.
func ParseBatch(values map[string]any) (*api.Batch, error) {
	b := new(api.Batch)
	if err := Entry(values, b); err != nil {
		return nil, err
	}
	v := b.GetPrevious()
	for _, c := range b.GetChanges() {
		if c.GetVersion() <= v || c.GetSeid() == 0 {
			return nil, fmt.Errorf("version %d of SEID %#x behind %d: %w", c.GetVersion(), c.GetSeid(), v, ErrMessage)
		}
		v = c.GetVersion()
	}
	if v != b.GetLast() {
		return nil, fmt.Errorf("last version %d, want %d: %w", b.GetLast(), v, ErrMessage)
	}
	return b, nil
}

// ParseSession reads a session that stands under seid; no octets are none.
func ParseSession(seid uint64, b []byte) (*api.Session, error) {
	if len(b) == 0 {
		return nil, nil
	}
	s := new(api.Session)
	if err := proto.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("session %#x: %w: %w", seid, ErrMessage, err)
	}
	if s.GetSeid() != seid {
		return nil, fmt.Errorf("session %#x under SEID %#x: %w", s.GetSeid(), seid, ErrMessage)
	}
	return s, nil
}
