package dut

import (
	"fmt"
	"slices"
	"strings"
)

// All is the name that stands for all of our own kinds and those of others that
// are installed.
const All = "all"

// Kinds returns all kinds, ours first.
func Kinds() []Kind {
	var list []Kind
	for _, name := range Datapaths {
		list = append(list, Plumbline(name, nil))
	}
	return append(list, others()...)
}

// Names are those of [Kinds], and [All].
func Names() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return append(names, All)
}

// Select returns the kinds that names say, each once: "xdp", "eupf",
// "eupf=/path/to/program", or [All]. A kind that is named is returned whether or not
// it is installed: its start says what is missing.
func Select(names []string) ([]Kind, error) {
	var list []Kind
	for _, name := range names {
		kinds, err := choose(name)
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			at := slices.IndexFunc(list, func(have Kind) bool { return have.Name == k.Name })
			switch {
			case at < 0:
				list = append(list, k)
			case k.Path != "":
				list[at] = k
			}
		}
	}
	return list, nil
}

func choose(name string) ([]Kind, error) {
	name, path, given := strings.Cut(name, "=")
	kinds := Kinds()
	if name == All && !given {
		return slices.DeleteFunc(kinds, func(k Kind) bool {
			_, err := k.Find() // what has its name may be another's program
			return k.External || err != nil || k.Needs != nil && k.Needs() != nil
		}), nil
	}
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("UPF %q is not known: want some of %s", name, strings.Join(Names(), ", "))
	}
	k := kinds[i]
	switch {
	case given && path == "":
		return nil, fmt.Errorf("UPF %s=: the path of its program is missing", name)
	case given && k.External:
		return nil, fmt.Errorf("UPF %s=%s: it has no program", name, path)
	case given:
		k.Path = path
	}
	return []Kind{k}, nil
}
