package bmv2

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The parts of BMv2 JSON that are read. Values with a type-dependent form stay raw until the type is known.

type jsonProgram struct {
	Meta struct {
		Version []int `json:"version"`
	} `json:"__meta__"`
	HeaderTypes       []jsonHeaderType  `json:"header_types"`
	Headers           []jsonHeader      `json:"headers"`
	HeaderStacks      []jsonStack       `json:"header_stacks"`
	HeaderUnions      []json.RawMessage `json:"header_unions"`
	HeaderUnionStacks []json.RawMessage `json:"header_union_stacks"`
	Errors            [][]any           `json:"errors"`
	Parsers           []jsonParser      `json:"parsers"`
	ParseVsets        []json.RawMessage `json:"parse_vsets"`
	Deparsers         []jsonDeparser    `json:"deparsers"`
	MeterArrays       []jsonMeter       `json:"meter_arrays"`
	CounterArrays     []jsonCounter     `json:"counter_arrays"`
	RegisterArrays    []jsonRegister    `json:"register_arrays"`
	Actions           []jsonAction      `json:"actions"`
	Pipelines         []jsonPipeline    `json:"pipelines"`
	Calculations      []jsonCalculation `json:"calculations"`
	Checksums         []jsonChecksum    `json:"checksums"`
	LearnLists        []jsonFieldList   `json:"learn_lists"`
	FieldLists        []jsonFieldList   `json:"field_lists"`
	ExternInstances   []jsonNamed       `json:"extern_instances"`
	FieldAliases      []json.RawMessage `json:"field_aliases"`
}

type jsonNamed struct {
	Name string `json:"name"`
	ID   int    `json:"id"`
}

type jsonHeaderType struct {
	jsonNamed
	Fields    [][]any         `json:"fields"`
	LengthExp json.RawMessage `json:"length_exp"`
	MaxLength int             `json:"max_length"`
}

type jsonHeader struct {
	jsonNamed
	HeaderType string `json:"header_type"`
	Metadata   bool   `json:"metadata"`
}

type jsonStack struct {
	jsonNamed
	HeaderType string `json:"header_type"`
	HeaderIDs  []int  `json:"header_ids"`
}

type jsonParser struct {
	jsonNamed
	InitState string           `json:"init_state"`
	States    []jsonParseState `json:"parse_states"`
}

type jsonParseState struct {
	jsonNamed
	Ops         []jsonParserOp   `json:"parser_ops"`
	Key         []jsonValue      `json:"transition_key"`
	Transitions []jsonTransition `json:"transitions"`
}

type jsonParserOp struct {
	Op         string            `json:"op"`
	Parameters []json.RawMessage `json:"parameters"`
}

type jsonTransition struct {
	Type      string  `json:"type"`
	Value     *string `json:"value"`
	Mask      *string `json:"mask"`
	NextState *string `json:"next_state"`
}

// jsonValue is the type value object of the format. Where the format has a bare number, only raw is set.
type jsonValue struct {
	Type     string
	Value    json.RawMessage
	Bitwidth int
	raw      json.RawMessage
}

// UnmarshalJSON takes an object, and anything else as it is.
func (v *jsonValue) UnmarshalJSON(b []byte) error {
	v.raw = append(json.RawMessage(nil), b...)
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	var o struct {
		Type     string          `json:"type"`
		Value    json.RawMessage `json:"value"`
		Bitwidth int             `json:"bitwidth"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	v.Type, v.Value, v.Bitwidth = o.Type, o.Value, o.Bitwidth
	return nil
}

// notField is the error of what should be a header and a name. The compiler also writes expressions in their place, which
// BMv2 does not know.
func notField(raw json.RawMessage) error {
	if bytes.IndexByte(raw, '{') >= 0 {
		return fmt.Errorf("%w: expression instead of a header and a name", ErrUnsupported)
	}
	return fmt.Errorf("field %.60s is not a header and a name", raw)
}

type jsonExpression struct {
	Op    string     `json:"op"`
	Left  *jsonValue `json:"left"`
	Right *jsonValue `json:"right"`
	Cond  *jsonValue `json:"cond"`
}

type jsonDeparser struct {
	jsonNamed
	Order      []string          `json:"order"`
	Primitives []json.RawMessage `json:"primitives"`
}

type jsonMeter struct {
	jsonNamed
	Type         string   `json:"type"`
	RateCount    int      `json:"rate_count"`
	Size         int      `json:"size"`
	IsDirect     bool     `json:"is_direct"`
	Binding      string   `json:"binding"`
	ResultTarget []string `json:"result_target"`
}

type jsonCounter struct {
	jsonNamed
	Size     int    `json:"size"`
	IsDirect bool   `json:"is_direct"`
	Binding  string `json:"binding"`
}

type jsonRegister struct {
	jsonNamed
	Size     int `json:"size"`
	Bitwidth int `json:"bitwidth"`
}

type jsonAction struct {
	jsonNamed
	RuntimeData []struct {
		Name     string `json:"name"`
		Bitwidth int    `json:"bitwidth"`
	} `json:"runtime_data"`
	Primitives []jsonPrimitive `json:"primitives"`
}

type jsonPrimitive struct {
	Op         string      `json:"op"`
	Parameters []jsonValue `json:"parameters"`
}

type jsonPipeline struct {
	jsonNamed
	InitTable      *string           `json:"init_table"`
	Tables         []jsonTable       `json:"tables"`
	ActionProfiles []jsonNamed       `json:"action_profiles"`
	Conditionals   []jsonConditional `json:"conditionals"`
	ActionCalls    []jsonActionCall  `json:"action_calls"`
}

type jsonTable struct {
	jsonNamed
	MatchType       string             `json:"match_type"`
	Type            string             `json:"type"`
	MaxSize         int                `json:"max_size"`
	WithCounters    bool               `json:"with_counters"`
	SupportTimeout  bool               `json:"support_timeout"`
	Key             []jsonKey          `json:"key"`
	ActionIDs       []int              `json:"action_ids"`
	Actions         []string           `json:"actions"`
	NextTables      map[string]*string `json:"next_tables"`
	BaseDefaultNext *string            `json:"base_default_next"`
	DirectMeters    *string            `json:"direct_meters"`
	DefaultEntry    *jsonDefaultEntry  `json:"default_entry"`
	Entries         []jsonEntry        `json:"entries"`
}

type jsonKey struct {
	MatchType string          `json:"match_type"`
	Name      string          `json:"name"`
	Target    json.RawMessage `json:"target"`
	Mask      *string         `json:"mask"`
}

type jsonDefaultEntry struct {
	ActionID         int      `json:"action_id"`
	ActionConst      bool     `json:"action_const"`
	ActionData       []string `json:"action_data"`
	ActionEntryConst bool     `json:"action_entry_const"`
}

type jsonEntry struct {
	MatchKey []struct {
		MatchType    string          `json:"match_type"`
		Key          json.RawMessage `json:"key"`
		PrefixLength int             `json:"prefix_length"`
		Mask         string          `json:"mask"`
		Start        string          `json:"start"`
		End          string          `json:"end"`
	} `json:"match_key"`
	ActionEntry struct {
		ActionID   int      `json:"action_id"`
		ActionData []string `json:"action_data"`
	} `json:"action_entry"`
	Priority int `json:"priority"`
}

type jsonConditional struct {
	jsonNamed
	Expression jsonValue `json:"expression"`
	TrueNext   *string   `json:"true_next"`
	FalseNext  *string   `json:"false_next"`
}

type jsonActionCall struct {
	jsonNamed
	ActionID int     `json:"action_id"`
	NextNode *string `json:"next_node"`
}

type jsonCalculation struct {
	jsonNamed
	Algo  string      `json:"algo"`
	Input []jsonValue `json:"input"`
}

type jsonChecksum struct {
	jsonNamed
	Target      []string   `json:"target"`
	Type        string     `json:"type"`
	Calculation string     `json:"calculation"`
	Verify      *bool      `json:"verify"`
	Update      *bool      `json:"update"`
	IfCond      *jsonValue `json:"if_cond"`
}

type jsonFieldList struct {
	jsonNamed
	Elements []jsonValue `json:"elements"`
}
