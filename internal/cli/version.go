package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// Commit is what the program was built from, as far as the Makefile has said it; "": it has
// not. The main package sets it at the start.
var Commit string

// Version is plumb version.
type Version struct{}

// Help is shown by plumb version --help.
func (Version) Help() string {
	return `Quote the line in a report of a fault.

Examples:

    plumb version
`
}

// Run prints one line: version, commit, toolchain, platform.
func (Version) Run(stdout io.Writer) error {
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintln(stdout, versionLine(info, Commit))
	return err
}

// versionLine is what plumb version prints.
func versionLine(info *debug.BuildInfo, commit string) string {
	version, commit := builtFrom(info, commit)
	return fmt.Sprintf("plumb %s commit %s %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Built returns the version and the commit of this program.
func Built() (version, commit string) {
	info, _ := debug.ReadBuildInfo()
	return builtFrom(info, Commit)
}

// builtFrom prefers the commit given at link time to the one in info, which may
// be nil.
func builtFrom(info *debug.BuildInfo, linked string) (version, commit string) {
	version, commit, dirty := "(devel)", linked, ""
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+changes"
			}
		}
	}
	if commit == "" {
		return version, "unknown"
	}
	return version, commit + dirty
}
