package apps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Place is both ends of a program: a UE and a server in the data network.
type Place struct {
	UE, DN     *topology.Namespace
	UEAddress  netip.Addr // of the UE
	DNAddress  netip.Addr // of the server
	ServerPort uint16
	// UEDevice is a device that the client is bound to as well; empty: to none.
	UEDevice string
	// ServerRuns says that somebody else runs an iperf3 server at ServerPort.
	ServerRuns bool
	// Realtime has iperf3 be real time, of the lowest priority, if the machine allows
	// that: what others want of the CPUs is not measured.
	Realtime bool
}

// Stream is UDP at a rate.
type Stream struct {
	UplinkBPS   uint64 // of UDP payload; 0: nothing that way
	DownlinkBPS uint64 // the same as UplinkBPS, or one of them is 0
	Octets      int    // of UDP payload in a packet
	Duration    time.Duration
	Omit        time.Duration // before that, not counted; whole seconds
}

// Transfer is what iperf3 says of one way: what was sent, and of that what did not
// arrive.
type Transfer struct {
	BPS           float64       // of UDP payload, that arrived
	Packets, Lost int           // sent, of these lost
	Jitter        time.Duration // RFC 3550, 6.4.1
}

// Streamed is what iperf3 says at the end.
type Streamed struct{ Uplink, Downlink Transfer }

// Iperf is an iperf3 client and server at work.
type Iperf struct {
	client, server *Process
	stream         Stream
}

// StartIperf begins a stream. End it with [Iperf.Wait], or [Iperf.Kill].
func StartIperf(ctx context.Context, at Place, s Stream) (*Iperf, error) {
	server, err := IperfServer(ctx, at)
	if err != nil {
		return nil, err
	}
	client, err := at.StartApart(at.UE, s.arguments(at)...)
	if err != nil {
		server.Kill()
		return nil, err
	}
	return &Iperf{client, server, s}, nil
}

// IperfServer starts the server of one test, and returns when it listens. If one runs
// already it returns nil, which can be killed.
func IperfServer(ctx context.Context, at Place) (*Process, error) {
	if at.ServerRuns {
		return nil, nil
	}
	server, err := at.Start(at.DN, "iperf3", "--server", "--one-off", "--forceflush", "--bind", at.DNAddress.String(),
		"--port", strconv.Itoa(int(at.ServerPort)))
	if err != nil {
		return nil, err
	}
	if err := listening(ctx, at.DN, server, "tcp", at.ServerPort); err != nil {
		server.Kill()
		return nil, err
	}
	return server, nil
}

// IperfClient is the command line of a client, but for what it sends.
func (at Place) IperfClient() []string {
	args := []string{"iperf3", "--client", at.DNAddress.String(), "--port", strconv.Itoa(int(at.ServerPort)), "--bind", at.UEAddress.String(),
		"--json", "--connect-timeout", "5000"}
	if at.UEDevice != "" {
		args = append(args, "--bind-dev", at.UEDevice)
	}
	return args
}

func (s Stream) arguments(at Place) []string {
	args := append(at.IperfClient(), "--udp", "--length", strconv.Itoa(s.Octets),
		"--bitrate", strconv.FormatUint(max(s.UplinkBPS, s.DownlinkBPS), 10), "--time", strconv.Itoa(int((s.Duration+time.Second-1)/time.Second)))
	if s.Omit > 0 {
		args = append(args, "--omit", strconv.Itoa(int(s.Omit/time.Second)))
	}
	switch {
	case s.UplinkBPS == 0:
		return append(args, "--reverse")
	case s.DownlinkBPS > 0:
		return append(args, "--bidir")
	}
	return args
}

// Wait returns what arrived when the stream is over. limit is how much longer than the
// stream that may take.
func (i *Iperf) Wait(ctx context.Context, limit time.Duration) (Streamed, error) {
	out, err := i.client.Wait(ctx, i.stream.Omit+i.stream.Duration+limit)
	i.server.Kill()
	if err != nil {
		return Streamed{}, errors.Join(err, iperfError(i.client.out.Bytes()))
	}
	return parseIperf(out, i.stream)
}

// Exited is an error if the client has ended already.
func (i *Iperf) Exited() error { return i.client.Exited() }

// Kill ends both programs.
func (i *Iperf) Kill() {
	i.client.Kill()
	i.server.Kill()
}

// iperfSum is one way in the JSON of iperf3.
type iperfSum struct {
	BPS     float64 `json:"bits_per_second"`
	Jitter  float64 `json:"jitter_ms"`
	Lost    int     `json:"lost_packets"`
	Packets int     `json:"packets"`
}

// iperfReport is what matters of it. Of UDP, sum is what the receiver says of what the
// client sent, or received with --reverse.
type iperfReport struct {
	Error string `json:"error"`
	End   struct {
		Sum      iperfSum `json:"sum"`
		Received iperfSum `json:"sum_received"`
		Back     iperfSum `json:"sum_received_bidir_reverse"`
		BackSum  iperfSum `json:"sum_bidir_reverse"`
	} `json:"end"`
}

// iperfError is what iperf3 says in its JSON that went wrong.
func iperfError(out []byte) error {
	var r iperfReport
	if json.Unmarshal(out, &r) == nil && r.Error != "" {
		return fmt.Errorf("apps: iperf3: %.300s", r.Error)
	}
	return nil
}

// parseIperf reads what iperf3 --json writes of a stream.
func parseIperf(out []byte, s Stream) (Streamed, error) {
	var r iperfReport
	if err := json.Unmarshal(out, &r); err != nil {
		return Streamed{}, fmt.Errorf("apps: iperf3 wrote %.200q: %w", out, err)
	}
	if r.Error != "" {
		return Streamed{}, fmt.Errorf("apps: iperf3: %.300s", r.Error)
	}
	forth, back := transfer(r.End.Sum, r.End.Received), transfer(r.End.BackSum, r.End.Back)
	switch {
	case forth.Packets <= 0 || s.UplinkBPS > 0 && s.DownlinkBPS > 0 && back.Packets <= 0:
		return Streamed{}, errors.New("apps: iperf3: nothing was sent")
	case s.UplinkBPS == 0:
		return Streamed{Downlink: forth}, nil
	}
	return Streamed{Uplink: forth, Downlink: back}, nil
}

// transfer takes counts from where this version of iperf3 has them.
func transfer(sum, received iperfSum) Transfer {
	from := received
	if from.Packets == 0 {
		from = sum
	}
	lost := min(max(from.Lost, 0), max(from.Packets, 0))
	return Transfer{
		BPS: from.BPS, Packets: max(from.Packets, 0), Lost: lost, Jitter: time.Duration(from.Jitter * float64(time.Millisecond)),
	}
}
