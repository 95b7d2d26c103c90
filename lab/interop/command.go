package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/scratch"
)

// placeholders are replaced by the values of a UE in a command.
var placeholders = []string{"{ue}", "{namespace}", "{number}", "{ipv4}", "{ipv6}"}

// ofUE reports whether a command is about one UE.
func ofUE(command string) bool {
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(command, p) })
}

// fill puts a UE into a command.
func (u *ue) fill(command string) string {
	values := []string{"{ue}", u.Device, "{namespace}", u.Namespace, "{number}", strconv.Itoa(u.number)}
	addresses := map[bool]string{}
	for _, a := range u.addresses {
		addresses[a.Is4()] = a.String()
	}
	return strings.NewReplacer(append(values, "{ipv4}", addresses[true], "{ipv6}", addresses[false])...).Replace(command)
}

const maxSaid = 200 // octets of a command's last words

// execute runs a command with /bin/sh. Its background processes keep running, such as a UPF that it
// restarts; if it takes too long, or ctx is done, its whole process group is killed. Its output
// goes to a file: closing a pipe would kill processes that still write to it.
func execute(ctx context.Context, line string, limit time.Duration) (c *report.InteropCommand) {
	c = &report.InteropCommand{Line: line}
	began := time.Now()
	said, err := runShell(ctx, line, limit)
	c.TimeNS = int64(time.Since(began))
	if err != nil {
		c.Failed = err.Error()
		if said != "" {
			c.Failed += ": " + said
		}
	}
	return c
}

func runShell(ctx context.Context, line string, limit time.Duration) (said string, err error) {
	dir, err := scratch.Directory("interop")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out, err := os.OpenFile(filepath.Join(dir, "output"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("still running after %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return lastWords(out), err
}

// lastWords is the end of a file, on one line.
func lastWords(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxSaid), maxSaid))
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "")), " ")
}
