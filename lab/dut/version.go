package dut

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// versionTime is what a program has to say its version.
const versionTime = 5 * time.Second

// goVersion returns the version of programs whose main module is module, as the
// toolchain has noted it: the module's, and the commit.
func goVersion(module string) func(string) (string, error) {
	return func(path string) (string, error) {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return "", err
		}
		if info.Main.Path != module {
			return "", fmt.Errorf("%s is made from %s: want %s", path, info.Main.Path, module)
		}
		version := info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && !strings.Contains(version, s.Value[:min(12, len(s.Value))]) {
				version += " " + s.Value
			}
		}
		return version, nil
	}
}

// saysVersion returns what programs print first when they are asked by args.
func saysVersion(args ...string) func(string) (string, error) {
	return func(path string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), versionTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.WaitDelay = logTime
		out, err := cmd.CombinedOutput()
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if err != nil {
			return "", fmt.Errorf("%s %s: %w: %s", path, strings.Join(args, " "), err, first)
		}
		return first, nil
	}
}
