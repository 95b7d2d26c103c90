package pfcpsim

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed dialects/*.yaml
var dialects embed.FS

// Dialects lists the names of the scenarios that are built in.
func Dialects() []string {
	entries, err := dialects.ReadDir("dialects")
	if err != nil {
		panic(err) // it is in the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
	}
	return names
}

// DialectText returns a built-in scenario as it is written.
//
// Errors: [ErrName].
func DialectText(name string) ([]byte, error) {
	text, err := dialects.ReadFile("dialects/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("%q is none of %s: %w", name, strings.Join(Dialects(), ", "), ErrName)
	}
	return text, nil
}

// Dialect returns a built-in scenario.
//
// Errors: [ErrName].
func Dialect(name string) (*Scenario, error) {
	text, err := DialectText(name)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}
