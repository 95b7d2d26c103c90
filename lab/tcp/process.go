package tcp

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"

	"plumbline/lab/topology"
)

// process is a program in a namespace.
type process struct {
	*exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
}

func spawn(ctx context.Context, ns *topology.Namespace, args ...string) (*process, error) {
	p := &process{ended: make(chan struct{})}
	p.Cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.Stdout, p.Stderr = &p.output, &p.output
	if err := ns.Do(p.Start); err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	go func() {
		_ = p.Wait() // whoever asks has the output
		close(p.ended)
	}()
	return p, nil
}

// exited is an error if the process has ended already.
func (p *process) exited() error {
	select {
	case <-p.ended:
		return fmt.Errorf("tcp: %v ended early: %s", p.Args, bytes.TrimSpace(p.output.Bytes()))
	default:
		return nil
	}
}

// kill ends the process, if it has not ended.
func (p *process) kill() error {
	_ = p.Process.Kill()
	<-p.ended
	return nil
}
