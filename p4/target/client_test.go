package target

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// python finds an interpreter that has a module: PLUMB_P4_PYTHON, which may name several, or python3.
func python(t *testing.T, module string) string {
	t.Helper()
	var tried []string
	for _, name := range append(strings.Fields(os.Getenv("PLUMB_P4_PYTHON")), "python3") {
		out, err := exec.Command(name, "-c", "import "+module).CombinedOutput()
		if err == nil {
			return name
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		tried = append(tried, name+": "+lines[len(lines)-1])
	}
	t.Skipf("no Python has module %s (pip install p4runtime-shell finsy; PLUMB_P4_PYTHON names its python): %s", module, strings.Join(tried, "; "))
	return ""
}

// TestClients: controllers that others have made set the pipeline, write and read entries, counters, meters and groups, and
// exchange packets and digests.
func TestClients(t *testing.T) {
	for _, tc := range []struct{ module, script string }{
		{"p4runtime_sh.shell", "testdata/shell_client.py"},
		{"finsy", "testdata/finsy_client.py"},
	} {
		t.Run(tc.module, func(t *testing.T) {
			interpreter := python(t, tc.module)
			r := newRig(t, 1)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = r.server.Serve(l) }()
			go func() { // what leaves by port 3 comes back by port 1
				for frame := range r.ports[3].out {
					r.ports[1].come(frame)
				}
			}()
			t.Cleanup(func() { close(r.ports[3].out) })
			cmd := exec.CommandContext(t.Context(), interpreter, tc.script, l.Addr().String(), "testdata/bridge.p4info.txtpb", "testdata/bridge.json")
			cmd.WaitDelay = time.Second
			kill := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "\ndone\n") {
				t.Errorf("%v: %s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
