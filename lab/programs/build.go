package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BuildPlumb compiles this project's program for a test that runs it. The go command is
// that of `go test`, which says where it is; PATH is not what it was if the test is run
// by sudo.
func BuildPlumb(t testing.TB) string {
	t.Helper()
	goTool := "go"
	if root := os.Getenv("GOROOT"); root != "" {
		goTool = filepath.Join(root, "bin", "go")
	}
	binary := filepath.Join(t.TempDir(), "plumb")
	out, err := exec.Command(goTool, "build", "-buildvcs=false", "-o", binary, "github.com/plumbline-upf/plumbline/cmd/plumb").CombinedOutput()
	if err != nil {
		t.Fatalf("build plumb: %v\n%s", err, out)
	}
	return binary
}
