package wire

import (
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// kinds pairs each error of package datapath with its number on the way.
var kinds = []struct {
	kind api.Failure_Kind
	err  error
}{
	{api.Failure_NO_SESSION, datapath.ErrNoSession},
	{api.Failure_FULL, datapath.ErrFull},
	{api.Failure_UNSUPPORTED, datapath.ErrUnsupported},
	{api.Failure_CLASH, datapath.ErrClash},
	{api.Failure_NO_RULE, datapath.ErrNoRule},
	{api.Failure_CLOSED, datapath.ErrClosed},
}

// maxText bounds what is said of a failure, in octets.
const maxText = 512

// FailureOf is a driver's error as a message; nil: none.
func FailureOf(err error) *api.Failure {
	if err == nil {
		return nil
	}
	f := new(api.Failure)
	var rule *datapath.RuleError
	if errors.As(err, &rule) {
		f.HasRule, f.RuleType, f.RuleId = true, rule.Type, rule.ID
		err = rule.Err
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kind = k.kind
			break
		}
	}
	text := []rune(err.Error())
	f.Text = string(text[:min(len(text), maxText/4)])
	return f
}

// ErrorOf is the error that [FailureOf] made the message of: the same to
// errors.Is and errors.As with those of package datapath, and the same text.
func ErrorOf(f *api.Failure) error {
	if f == nil {
		return nil
	}
	err := error(&failure{text: f.GetText()})
	for _, k := range kinds {
		if f.GetKind() == k.kind {
			err = &failure{text: f.GetText(), is: k.err}
		}
	}
	if f.GetHasRule() {
		return &datapath.RuleError{Type: f.GetRuleType(), ID: f.GetRuleId(), Err: err}
	}
	return err
}

// failure is an error that has come over the bus.
type failure struct {
	text string
	is   error // nil: none of package datapath's
}

// Error is the text that the agent said.
func (f *failure) Error() string { return fmt.Sprintf("agent: %s", f.text) }

// Unwrap returns the error of package datapath.
func (f *failure) Unwrap() error { return f.is }
