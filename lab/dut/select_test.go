package dut

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script makes a program of the shell.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSelect(t *testing.T) {
	program := script(t, "open5gs-upfd", "echo Open5GS daemon v9; echo more")
	t.Setenv("PATH", filepath.Dir(program))
	own := []string{"xdp", "tc", "afxdp", "tun", "tap", "p4"}
	for _, tc := range []struct {
		in   []string
		want []string
		err  string
	}{
		{in: []string{"xdp", "eupf"}, want: []string{"xdp", "eupf"}},
		{in: []string{"tun", "tun", "external"}, want: []string{"tun", "external"}},
		{in: []string{"all"}, want: append(slices.Clone(own), "open5gs-tun", "open5gs-tap")},
		{in: []string{"all", "eupf=/x/eupf"}, want: append(slices.Clone(own), "open5gs-tun", "open5gs-tap", "eupf=/x/eupf")},
		{in: []string{"open5gs-tun=/y", "open5gs-tun"}, want: []string{"open5gs-tun=/y"}},
		{in: []string{"open5gs-tun", "open5gs-tun=/y"}, want: []string{"open5gs-tun=/y"}},
		{in: []string{"ovs"}, err: `UPF "ovs" is not known`},
		{in: []string{"eupf="}, err: "the path of its program is missing"},
		{in: []string{"external=/x"}, err: "it has no program"},
		{in: []string{"all=/x"}, err: `UPF "all" is not known`},
	} {
		kinds, err := Select(tc.in)
		if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%v: got %v, want %q", tc.in, err, tc.err)
			continue
		}
		var got []string
		for _, k := range kinds {
			name := k.Name
			if k.Path != "" {
				name += "=" + k.Path
			}
			got = append(got, name)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %v, want %v", tc.in, got, tc.want)
		}
	}
}

func TestFind(t *testing.T) {
	program := script(t, "open5gs-upfd", "echo Open5GS daemon v9; echo more")
	broken := script(t, "open5gs-upfd", "echo no library >&2; exit 127")
	t.Setenv("PATH", t.TempDir())
	for _, tc := range []struct {
		name    string
		kind    Kind
		path    string
		version string
		err     string
		missing bool
	}{
		{name: "by its path", kind: open5gsTUN, path: program, version: "Open5GS daemon v9"},
		{name: "does not run", kind: open5gsTUN, path: broken, err: "exit status 127: no library"},
		{name: "not in PATH", kind: eupf, missing: true, err: "eupf: not installed: no eupf in PATH. eUPF: https://github.com/edgecomllc/eupf"},
		{name: "not at its path", kind: open5gsTAP, path: "/nowhere/upf", missing: true, err: "then --dut open5gs-tap=/path/to/open5gs-upfd"},
		{name: "no program of Go", kind: free5gc, path: program, err: "version of free5gc"},
		{name: "another's program", kind: eupf, path: os.Args[0], err: "want github.com/edgecomllc/eupf"},
		{name: "none is needed", kind: external},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.kind.Path = tc.path
			got, err := tc.kind.Find()
			if got.Version != tc.version || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %+v, %v, want %q, %q", got, err, tc.version, tc.err)
			}
			if errors.Is(err, ErrNotInstalled) != tc.missing {
				t.Errorf("%v: not installed: want %v", err, tc.missing)
			}
		})
	}
}
