package random

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed testdata
var corpus embed.FS

// Corpus returns the scripts of testdata by their names: what has once been found.
func Corpus() (map[string]Script, error) {
	files, err := fs.Glob(corpus, "testdata/*.txt")
	if err != nil {
		return nil, err
	}
	all := map[string]Script{}
	for _, name := range files {
		text, err := corpus.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if all[name], err = Parse(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}
