package tcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"plumbline/lab/topology"
)

// Available says why there is no iperf3.
//
// Errors: [errors.ErrUnsupported].
func Available() error {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return fmt.Errorf("%w: TCP is measured with iperf3, which is not installed", errors.ErrUnsupported)
	}
	return nil
}

// Flow is one TCP connection, sent over as fast as it goes.
type Flow struct {
	UE       UE
	Downlink bool          // the data network sends
	Duration time.Duration // whole seconds
	Omit     time.Duration // before that, for slow start; whole seconds
}

// Test is a flow on its way.
type Test struct{ client, server *process }

// Result is what iperf3 says at the end.
type Result struct {
	BPS         float64 // of payload, at the receiver
	Retransmits int     // segments, by the sender
}

// Start begins the flow. End it with Wait or Kill.
func Start(ctx context.Context, t *topology.Topology, f Flow) (*Test, error) {
	address := t.N6.Peer.Address.Addr().String()
	server, err := spawn(ctx, t.DN, "iperf3", "--server", "--one-off", "--bind", address)
	if err != nil {
		return nil, err
	}
	if err := listening(ctx, t.DN, server); err != nil {
		return nil, err
	}
	args := []string{"iperf3", "--client", address, "--bind", f.UE.Address.String(), "--json", "--connect-timeout", "5000",
		"--time", seconds(f.Duration), "--omit", seconds(f.Omit)}
	if f.Downlink {
		args = append(args, "--reverse")
	}
	client, err := spawn(ctx, t.GNB, args...)
	if err != nil {
		return nil, errors.Join(err, server.kill())
	}
	return &Test{client, server}, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// Kill ends the test in its middle; that it had ended already is an error.
func (t *Test) Kill() error {
	early := t.client.exited()
	return errors.Join(early, t.client.kill(), t.server.kill())
}

// Wait returns the result when the flow is done. It waits for the duration of the
// flow and a while longer, not for ever: connections may hang.
func (t *Test) Wait(ctx context.Context, limit time.Duration) (Result, error) {
	var err error
	select {
	case <-t.client.ended:
	case <-time.After(limit):
		err = fmt.Errorf("tcp: iperf3 is still running after %v", limit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err := errors.Join(err, t.client.kill(), t.server.kill()); err != nil {
		return Result{}, err
	}
	return parse(t.client.output.Bytes())
}

// parse reads what iperf3 --json writes, of which it has several forms of failure.
func parse(output []byte) (Result, error) {
	var answer struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				BPS float64 `json:"bits_per_second"`
			} `json:"sum_received"`
			Sent struct {
				Retransmits int `json:"retransmits"`
			} `json:"sum_sent"`
		} `json:"end"`
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		return Result{}, fmt.Errorf("tcp: iperf3 wrote %.200q: %w", output, err)
	}
	if answer.Error != "" {
		return Result{}, fmt.Errorf("tcp: iperf3: %s", answer.Error)
	}
	if answer.End.Received.BPS <= 0 {
		return Result{}, errors.New("tcp: iperf3: nothing was received")
	}
	return Result{BPS: answer.End.Received.BPS, Retransmits: answer.End.Sent.Retransmits}, nil
}

// listening waits until the iperf3 server takes connections.
func listening(ctx context.Context, ns *topology.Namespace, p *process) error {
	const iperfPort = 5201
	for {
		found := false
		err := ns.Do(func() error {
			sockets, err := netlink.SocketDiagTCP(unix.AF_INET)
			for _, s := range sockets {
				found = found || s.ID.SourcePort == iperfPort && s.State == netlink.TCP_LISTEN
			}
			return err
		})
		if err != nil || found {
			return err
		}
		select {
		case <-p.ended:
			return p.exited()
		case <-ctx.Done():
			return errors.Join(ctx.Err(), p.kill())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
