package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDirectory has what a dead process left removed, and nothing else.
func TestDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead := deadPID(t)
	elsewhere := t.TempDir()
	kept := []string{
		"plumb-sip-" + strconv.Itoa(os.Getpid()) + "-1", "plumb-sip-1-2", // their processes live
		"plumb-web-" + dead + "-1", "other-" + dead + "-1", // not of this kind
		"plumb-sip-" + dead, "plumb-sip-" + dead + "-x", "plumb-sip--1", "plumb-sip-0-1", "plumb-sip-" + dead + "-1-2", "plumb-sip-99999999999-1", // not made here
	}
	for _, name := range append([]string{"plumb-sip-" + dead + "-1"}, kept...) {
		if err := os.MkdirAll(filepath.Join(os.TempDir(), name, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(os.TempDir(), "plumb-sip-"+dead+"-2")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	dir, err := Directory("sip")
	if err != nil {
		t.Fatal(err)
	}
	if want := "plumb-sip-" + strconv.Itoa(os.Getpid()) + "-"; !strings.HasPrefix(filepath.Base(dir), want) {
		t.Errorf("got %s, want one that begins with %s", dir, want)
	}
	for _, path := range []string{dir, elsewhere, link} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(os.TempDir(), name, "below")); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(os.TempDir(), "plumb-sip-"+dead+"-1")); !os.IsNotExist(err) {
		t.Errorf("of a dead process: got error %v, want that it is gone", err)
	}
}

// deadPID returns the id of a process that has been.
func deadPID(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}
