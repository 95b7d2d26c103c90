package programs

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// NewNamespace makes a network namespace, whose whole name it returns, and removes it
// when the test ends.
func NewNamespace(t testing.TB, name string) string {
	t.Helper()
	name = fmt.Sprintf("plt-%d-%s", os.Getpid(), name)
	ip := func(do string) {
		t.Helper()
		if out, err := exec.Command("ip", "netns", do, name).CombinedOutput(); err != nil {
			t.Fatalf("ip netns %s %s: %v\n%s", do, name, err, out)
		}
	}
	ip("add")
	t.Cleanup(func() { ip("delete") })
	return name
}
