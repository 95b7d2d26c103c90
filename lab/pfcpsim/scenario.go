package pfcpsim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// Scenario is what a CP function does, and what it expects.
type Scenario struct {
	Name  string
	About string            // what it is, in a few sentences
	Needs []string          // what the UP function has to be told beforehand, for people
	Vars  map[string]string // values that steps use as ${name}; those of a run come before them
	Steps []Step
}

// Step is one step of a scenario.
type Step struct {
	Verb    string // what is done: one of [Verbs]
	With    any    // the verb's argument: IEs, octets, a packet, a time
	Session string // the session that a session message is about; "": the only one
	Note    string // why, or what is special about it

	// Expect is what has to come back: IEs of the response, or of a packet how
	// it leaves. Without it a response has to be accepted.
	Expect any
	Within time.Duration // how long to wait for it; 0: T1 times N1, for reports 2 s
	Answer any           // IEs of the answer to what the UP function sends; nil: accepted
	Bare   bool          // no IE is added to those that are given
	// Packets: what is expected depends on packets. Where none can be sent, a
	// request only has to be accepted, and no report is waited for.
	Packets bool
	SEID    string // SEID in the header, instead of the session's
}

// messages are the verbs that send a message, and which one.
var messages = map[string]pfcp.MessageType{
	"heartbeat":  pfcp.MsgHeartbeatRequest,
	"pfd":        pfcp.MsgPFDManagementRequest,
	"associate":  pfcp.MsgAssociationSetupRequest,
	"update":     pfcp.MsgAssociationUpdateRequest,
	"release":    pfcp.MsgAssociationReleaseRequest,
	"delete-set": pfcp.MsgSessionSetDeletionRequest,
	"modify-set": pfcp.MsgSessionSetModifyRequest,
	"establish":  pfcp.MsgSessionEstablishmentRequest,
	"modify":     pfcp.MsgSessionModificationRequest,
	"delete":     pfcp.MsgSessionDeletionRequest,
}

// awaited are the verbs that wait for a message of the UP function, and which.
var awaited = map[string]pfcp.MessageType{
	"report":             pfcp.MsgSessionReportRequest,
	"node-report":        pfcp.MsgNodeReportRequest,
	"association-update": pfcp.MsgAssociationUpdateRequest,
}

// others are the verbs besides: what they do.
var others = map[string]string{
	"quiet":    "the UP function sends no report for so long",
	"raw":      "sends a datagram, in hex",
	"wait":     "does nothing for so long",
	"set":      "gives variables values",
	"uplink":   "sends a packet from an access or from another UPF, in a tunnel",
	"downlink": "sends a packet from the data network",
	"sent":     "packets that left of their own accord: buffered ones, End Markers",
}

// Verbs lists the verbs of steps.
func Verbs() []string {
	verbs := slices.Concat(slices.Collect(maps.Keys(messages)), slices.Collect(maps.Keys(awaited)), slices.Collect(maps.Keys(others)))
	slices.Sort(verbs)
	return verbs
}

// Load reads a scenario from a file.
func Load(file string) (*Scenario, error) {
	text, err := yamltext.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, text)
}

// Parse reads a scenario.
//
// Errors: [yamltext.ConfigError] with all mistakes, which wraps [ErrForm]. Names and values
// of IEs are looked at when the step is done, as variables may be in them.
func Parse(text []byte) (*Scenario, error) { return parse("", text) }

// reader takes anchors, with which the rules of many sessions are written once.
var reader = yamltext.Reader{Of: ErrForm, Anchors: true}

func parse(name string, text []byte) (*Scenario, error) {
	var in struct {
		Name  string            `yaml:"name"`
		About string            `yaml:"about"`
		Needs []string          `yaml:"needs"`
		Vars  map[string]string `yaml:"vars"`
		Rules any               `yaml:"rules"` // a place for anchors
		Steps []yaml.MapSlice   `yaml:"steps"`
	}
	s := &Scenario{}
	err := reader.Parse(name, text, &in, func(c *yamltext.Checks) {
		if len(in.Steps) == 0 {
			c.Note("steps", "not set: want one or more")
		}
		for i, m := range in.Steps {
			step, err := newStep(m)
			c.Under(fmt.Sprintf("steps[%d]", i), err)
			s.Steps = append(s.Steps, step)
		}
	})
	if err != nil {
		return nil, err
	}
	s.Name, s.About, s.Needs, s.Vars = in.Name, strings.TrimSpace(in.About), in.Needs, in.Vars
	return s, nil
}

// ParseStep reads one step, as it stands in a scenario: "associate: {}".
//
// Errors: as of [Parse].
func ParseStep(text string) (Step, error) {
	var m yaml.MapSlice
	if err := reader.Parse("", []byte(text), &m, nil); err != nil {
		if fields := strings.Fields(text); len(fields) == 1 { // a verb alone
			return newStep(yaml.MapSlice{{Key: fields[0]}})
		}
		return Step{}, err
	}
	return newStep(m)
}

func newStep(m yaml.MapSlice) (Step, error) {
	var s Step
	var c yamltext.Checks
	for _, item := range m {
		key, value := fmt.Sprint(item.Key), item.Value
		switch key {
		case "session":
			s.Session = fmt.Sprint(value)
		case "note":
			s.Note = fmt.Sprint(value)
		case "expect":
			s.Expect = value
		case "within":
			var err error
			s.Within, err = time.ParseDuration(fmt.Sprint(value))
			c.Want(err == nil && s.Within >= 0, key, fmt.Sprint(value), "a duration, such as 30s")
		case "answer":
			s.Answer = value
		case "bare":
			s.Bare = truth(&c, key, value)
		case "packets":
			s.Packets = truth(&c, key, value)
		case "seid":
			s.SEID = fmt.Sprint(value)
		default:
			if s.Verb != "" {
				c.Note(key, "%s and %s in one step", s.Verb, key)
			} else if !slices.Contains(Verbs(), key) {
				c.Note(key, "%q is none of %s", key, strings.Join(Verbs(), ", "))
			}
			s.Verb, s.With = key, value
		}
	}
	if s.Verb == "" {
		c.Note("", "no verb: want one of %s", strings.Join(Verbs(), ", "))
	}
	return s, c.Err(ErrForm)
}

// truth is the value of a key that is true or false.
func truth(c *yamltext.Checks, key string, value any) bool {
	is, ok := value.(bool)
	c.Want(ok, key, fmt.Sprint(value), "true or false")
	return is
}

var variable = regexp.MustCompile(`\$\{([A-Za-z0-9_-]+)\}`)

// expand puts the values of variables into all strings of v.
func expand(v any, vars map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		var missing error
		text := variable.ReplaceAllStringFunc(v, func(match string) string {
			value, ok := vars[match[2:len(match)-1]]
			if !ok {
				missing = fmt.Errorf("variable %s: %w", match, ErrName)
			}
			return value
		})
		return text, missing
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = expand(v[i], vars); err != nil {
				return nil, err
			}
		}
		return out, nil
	case yaml.MapSlice:
		out := make(yaml.MapSlice, len(v))
		for i := range v {
			value, err := expand(v[i].Value, vars)
			if err != nil {
				return nil, err
			}
			out[i] = yaml.MapItem{Key: v[i].Key, Value: value}
		}
		return out, nil
	}
	return v, nil
}
