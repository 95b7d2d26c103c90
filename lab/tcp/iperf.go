package tcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/topology"
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
type Test struct{ client, server *apps.Process }

// Result is what iperf3 says at the end.
type Result struct {
	BPS         float64 // of payload, at the receiver
	Octets      uint64  // the same
	Retransmits int     // segments, by the sender
}

const iperfPort = 5201

// Start begins the flow. End it with Wait or Kill.
func Start(ctx context.Context, t *topology.Topology, f Flow) (*Test, error) {
	return StartAt(ctx, apps.Place{UE: t.GNB, DN: t.DN, UEAddress: f.UE.Address, DNAddress: t.N6.Peer.Address.Addr(), ServerPort: iperfPort}, f)
}

// StartAt is Start for a UE that is somewhere else; f.UE does not count.
func StartAt(ctx context.Context, at apps.Place, f Flow) (*Test, error) {
	server, err := apps.IperfServer(ctx, at)
	if err != nil {
		return nil, err
	}
	args := append(at.IperfClient(), "--time", seconds(f.Duration), "--omit", seconds(f.Omit))
	if f.Downlink {
		args = append(args, "--reverse")
	}
	client, err := at.Start(at.UE, args...)
	if err != nil {
		server.Kill()
		return nil, err
	}
	return &Test{client, server}, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// Kill ends the test in its middle; that it had ended already is an error.
func (t *Test) Kill() error {
	early := t.client.Exited()
	t.client.Kill()
	t.server.Kill()
	return early
}

// Wait returns the result when the flow is done. It waits for the duration of the
// flow and a while longer, not for ever: connections may hang.
func (t *Test) Wait(ctx context.Context, limit time.Duration) (Result, error) {
	output, err := t.client.Wait(ctx, limit)
	t.server.Kill()
	if err != nil {
		return Result{}, err
	}
	return parse(output)
}

// parse reads what iperf3 --json writes, of which it has several forms of failure.
func parse(output []byte) (Result, error) {
	var answer struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				BPS    float64 `json:"bits_per_second"`
				Octets uint64  `json:"bytes"`
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
	return Result{BPS: answer.End.Received.BPS, Octets: answer.End.Received.Octets, Retransmits: answer.End.Sent.Retransmits}, nil
}
