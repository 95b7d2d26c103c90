package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// front is a line of fronts.txt: a program and how it is compiled.
type front struct{ program, command string }

// outputs are the names of the files that the command writes.
func (f front) outputs() []string {
	var names []string
	for _, word := range strings.Fields(f.command) {
		if ext, ok := strings.CutPrefix(word, "OUT"); ok {
			names = append(names, f.program+ext)
		}
	}
	slices.Sort(names)
	return names
}

// made is a paragraph of the record: the sources and compiler of a program, and the outputs.
type made struct {
	front
	compiler string
	sources  string   // SHA-256 and names
	outputs  []string // SHA-256 and name, each
}

func readFronts(dir string) ([]front, error) {
	text, err := os.ReadFile(filepath.Join(dir, "fronts.txt"))
	if err != nil {
		return nil, err
	}
	var fronts []front
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		fronts = append(fronts, front{words[0], strings.Join(words[1:], " ")})
	}
	return fronts, nil
}

func recordFile(dir string) string { return filepath.Join(dir, "compiled", "record.txt") }

// readRecord reads the record; one that is not there is empty.
func readRecord(dir string) ([]made, error) {
	text, err := os.ReadFile(recordFile(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []made
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == "" || key == "#" {
			continue
		}
		if key == "program" {
			all = append(all, made{front: front{program: value}})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s:%d: %q is of no program", recordFile(dir), n, line)
		}
		switch m := &all[len(all)-1]; key {
		case "compiler":
			m.compiler = value
		case "command":
			m.command = value
		case "sources":
			m.sources = value
		case "output":
			m.outputs = append(m.outputs, value)
		default:
			return nil, fmt.Errorf("%s:%d: %q is nothing that a record has", recordFile(dir), n, line)
		}
	}
	return all, nil
}

func writeRecord(dir string, all []made) error {
	b := []byte("# What is here was made by make p4. The form: p4/internal/record/main.go.\n")
	for _, m := range all {
		b = fmt.Appendf(b, "\nprogram %s\ncompiler %s\ncommand %s\nsources %s\n", m.program, m.compiler, m.command, m.sources)
		for _, o := range m.outputs {
			b = fmt.Appendf(b, "output %s\n", o)
		}
	}
	return os.WriteFile(recordFile(dir), b, 0o644)
}

// sum is the SHA-256 and the name of a file, as sha256sum says it.
func sum(dir, name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x  %s", sha256.Sum256(b), name), nil
}

var include = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]*)"`)

// sources are the names, sorted, of PROGRAM.p4 and of all that it includes with "".
func sources(dir, program string) ([]string, error) {
	names := []string{program + ".p4"}
	for i := 0; i < len(names); i++ {
		b, err := os.ReadFile(filepath.Join(dir, names[i]))
		if err != nil {
			return nil, err
		}
		for _, m := range include.FindAllSubmatch(b, -1) {
			name := path.Join(path.Dir(names[i]), string(m[1]))
			if !filepath.IsLocal(name) {
				return nil, fmt.Errorf("%s includes %q: want a file below %s", names[i], m[1], dir)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// sumSources is the SHA-256 of a program's sources, and their names.
func sumSources(dir, program string) (string, error) {
	names, err := sources(dir, program)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range names {
		s, err := sum(dir, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, s)
	}
	return fmt.Sprintf("%x %s", h.Sum(nil), strings.Join(names, " ")), nil
}

// sumOutputs are those of a program: SHA-256 and name, each.
func sumOutputs(dir string, f front) ([]string, error) {
	var all []string
	for _, name := range f.outputs() {
		s, err := sum(filepath.Join(dir, "compiled"), name)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Replace(s, "  ", " ", 1))
	}
	return all, nil
}

// write takes the outputs of a compiler from a directory, and records them.
func write(dir, program, version, from string) error {
	fronts, err := readFronts(dir)
	if err != nil {
		return err
	}
	all, err := readRecord(dir)
	if err != nil {
		return err
	}
	var record []made // in the order of fronts.txt, and nothing that is no longer there
	for _, f := range fronts {
		if f.program == program {
			m, err := take(dir, f, version, from)
			if err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
			record = append(record, m)
		} else if i := slices.IndexFunc(all, func(m made) bool { return m.program == f.program }); i >= 0 {
			record = append(record, all[i])
		}
	}
	return writeRecord(dir, record)
}

func take(dir string, f front, version, from string) (made, error) {
	for _, name := range f.outputs() {
		b, err := output(filepath.Join(from, name))
		if err != nil {
			return made{}, err
		}
		if path.Ext(name) == ".json" {
			if b, err = tidy(b); err != nil {
				return made{}, fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "compiled", name), b, 0o644); err != nil {
			return made{}, err
		}
	}
	m := made{front: f, compiler: version}
	var err error
	if m.sources, err = sumSources(dir, f.program); err != nil {
		return made{}, err
	}
	m.outputs, err = sumOutputs(dir, f)
	return m, err
}

// check compares the record with what is there, and says all that differs.
func check(dir string) error {
	fronts, err := readFronts(dir)
	if err != nil {
		return err
	}
	all, err := readRecord(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range fronts {
		i := slices.IndexFunc(all, func(m made) bool { return m.program == f.program })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s: p4/compiled has no outputs of it: run make p4", f.program))
			continue
		}
		errs = append(errs, checkFront(dir, f, all[i]))
		all = slices.Delete(all, i, i+1)
	}
	for _, m := range all {
		errs = append(errs, fmt.Errorf("%s: p4/compiled has outputs of it, and p4/fronts.txt no line: remove them, and run make p4", m.program))
	}
	return errors.Join(errs...)
}

func checkFront(dir string, f front, m made) error {
	var errs []error
	if m.command != f.command {
		errs = append(errs, fmt.Errorf("%s: p4/fronts.txt compiles it with %q, and its outputs were made with %q: run make p4", f.program, f.command, m.command))
	}
	found, err := sumSources(dir, f.program)
	if err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", f.program, err))
	} else if found != m.sources {
		hash, names, _ := strings.Cut(found, " ")
		expected, recorded, _ := strings.Cut(m.sources, " ")
		if names != recorded {
			hash, expected = found, m.sources
		}
		errs = append(errs, fmt.Errorf("%s: its outputs in p4/compiled were made of other sources: expected SHA-256 %s, found %s: run make p4", f.program, expected, hash))
	}
	outputs, err := sumOutputs(dir, f)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("%s: %w: run make p4", f.program, err))...)
	}
	differ := func(of, from []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(of), func(o string) bool { return slices.Contains(from, o) }), ", ")
	}
	if !slices.Equal(outputs, m.outputs) {
		errs = append(errs, fmt.Errorf("%s: its outputs in p4/compiled are not those that were recorded: expected SHA-256 %s, found %s: run make p4",
			f.program, differ(m.outputs, outputs), differ(outputs, m.outputs)))
	}
	return errors.Join(errs...)
}
