package programs

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// NewNamespace makes a network namespace with its loopback device up, whose whole name it
// returns, and removes it when the test ends.
func NewNamespace(t testing.TB, name string) string {
	t.Helper()
	name = fmt.Sprintf("plt-%d-%s", os.Getpid(), name)
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v\n%s", args, err, out)
		}
	}
	ip("netns", "add", name)
	t.Cleanup(func() { ip("netns", "delete", name) })
	ip("-n", name, "link", "set", "lo", "up")
	return name
}
