package upfcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/internal/unixsocket"
	"github.com/plumbline-upf/plumbline/p4/bmv2"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
	"github.com/plumbline-upf/plumbline/p4/port"
	"github.com/plumbline-upf/plumbline/p4/target"
)

// P4Switch is plumb p4switch: a P4 program between Ethernet devices, reached by P4Runtime.
type P4Switch struct {
	Pipeline  string        `arg:"" optional:"" placeholder:"PIPELINE.json" help:"Program to begin with: BMv2 JSON, as p4c-bm2-ss writes it. Without it, a controller brings one."`
	P4Info    string        `name:"p4info" placeholder:"FILE" help:"P4Info of PIPELINE.json, as text or binary, without which controllers cannot reach what is in it."`
	Interface []switchPort  `short:"i" sep:"none" placeholder:"PORT@DEVICE" help:"Make an Ethernet device port number PORT. May be repeated."`
	Ports     string        `default:"auto" enum:"auto,af_xdp,packet" placeholder:"KIND" help:"How frames come and go: af_xdp (AF_XDP sockets, which take all frames of the device), packet (packet sockets), or auto: AF_XDP where the driver of a NIC can do it, else packet sockets (${default})."`
	GRPC      string        `name:"grpc" default:"127.0.0.1:9559" placeholder:"ADDRESS:PORT" help:"Where controllers connect; or unix:FILE, a Unix socket (${default})."`
	DeviceID  uint64        `default:"1" placeholder:"NUMBER" help:"P4Runtime's device_id (${default})."`
	CPUPort   uint32        `name:"cpu-port" default:"510" placeholder:"PORT" help:"Port that leads to the controller (${default})."`
	DropPort  uint32        `name:"drop-port" default:"511" placeholder:"PORT" help:"Port that drops: 511, which is what mark_to_drop of v1model means, and no other."`
	Workers   int           `default:"1" placeholder:"NUMBER" help:"Goroutines that frames go through; the kernel spreads flows over them (${default})."`
	TLSCert   string        `name:"tls-cert" placeholder:"FILE" help:"Certificate (PEM) of the switch: connections are protected by TLS. With --tls-key."`
	TLSKey    string        `name:"tls-key" placeholder:"FILE" help:"Key (PEM) of --tls-cert."`
	TLSCA     string        `name:"tls-client-ca" placeholder:"FILE" help:"Certificates (PEM) of who may sign those of controllers: a controller needs one."`
	Metrics   string        `placeholder:"ADDRESS:PORT" help:"Serve Prometheus metrics at /metrics."`
	Duration  time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`
	Check     bool          `help:"Say what PIPELINE.json has, or why it is refused; start nothing."`
	JSON      bool          `name:"json" help:"Print the result as JSON."`
}

// Help is shown by plumb p4switch --help.
func (P4Switch) Help() string {
	return `A software switch that executes a P4 program for v1model, compiled by p4c-bm2-ss, and that controllers reach by P4Runtime 1.4.1. Devices are promiscuous while they are ports; give them no addresses, or the kernel answers, too.

At the end it prints what it has counted, and in between at SIGUSR1. Needs CAP_NET_RAW, and for AF_XDP CAP_NET_ADMIN and CAP_BPF; root has them.

Examples:

    plumb p4switch --check pipeline.json
    plumb p4switch -i 1@eth1 -i 2@eth2
    plumb p4switch -i 1@eth1 -i 2@eth2 --p4info pipeline.p4info.txtpb \
        pipeline.json
    plumb p4switch -i 1@eth1 -i 2@eth2 --ports af_xdp
    plumb p4switch -i 1@eth1 --grpc 0.0.0.0:9559 --tls-cert switch.pem \
        --tls-key switch.key --tls-client-ca ca.pem
    plumb p4switch -i 1@eth1 --workers 2 --metrics 127.0.0.1:9190 \
        --duration 60s --json
`
}

// switchPort is a device and its number: PORT@DEVICE.
type switchPort struct {
	number uint32
	device string
}

// UnmarshalText reads PORT@DEVICE.
func (p *switchPort) UnmarshalText(text []byte) error {
	number, device, ok := strings.Cut(string(text), "@")
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || err != nil || device == "" {
		return fmt.Errorf("%q: want PORT@DEVICE, such as 1@eth1", text)
	}
	*p = switchPort{uint32(n), device}
	return nil
}

// Run is the switch as a process.
func (c *P4Switch) Run(ctx context.Context, stdout io.Writer) error {
	switch {
	case c.Check && c.Pipeline == "":
		return cli.Usage(errors.New("--check: want PIPELINE.json"))
	case c.Check:
		return c.check(stdout)
	case c.DropPort != bmv2.DropPort:
		return cli.Usage(fmt.Errorf("--drop-port %d: want %d, which is what mark_to_drop of v1model means", c.DropPort, bmv2.DropPort))
	case c.Workers < 1 || c.Workers > maxWorkers:
		return cli.Usage(fmt.Errorf("--workers %d: want 1 to %d", c.Workers, maxWorkers))
	case len(c.Interface) == 0:
		return cli.Usage(errors.New("want a port: -i PORT@DEVICE"))
	case c.P4Info != "" && c.Pipeline == "":
		return cli.Usage(errors.New("--p4info is of PIPELINE.json: want both"))
	}
	pipeline, err := p4rt.ReadPipeline(c.Pipeline, c.P4Info)
	if err != nil {
		return cli.InputError(err)
	}
	tls, err := p4rt.ReadTLS(c.TLSCert, c.TLSKey, c.TLSCA)
	if err != nil {
		return cli.Usage(fmt.Errorf("TLS: %w", err))
	}
	if err := cli.NeedsCapabilities("plumb p4switch opens packet sockets", map[string]int{"CAP_NET_RAW": unix.CAP_NET_RAW}); err != nil {
		return err
	}
	l, err := listenGRPC(ctx, c.GRPC)
	if err != nil {
		return fmt.Errorf("--grpc: %w", err)
	}
	defer l.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ports, err := c.openPorts(log)
	if err != nil {
		return err
	}
	defer closePorts(ports)
	s, err := target.New(target.Config{Ports: ports, CPUPort: c.CPUPort, Workers: c.Workers, Log: log})
	if err != nil {
		return cli.Usage(err)
	}
	server := p4rt.New(p4rt.Config{DeviceID: c.DeviceID, TLS: tls}, s, log)
	s.Start(server)
	err = c.serve(ctx, stdout, l, s, server, pipeline, log)
	server.Close()
	return errors.Join(err, s.Close(), c.print(stdout, s, server))
}

const maxWorkers = 64

func (c *P4Switch) openPorts(log *slog.Logger) (map[uint32]port.Port, error) {
	ports := map[uint32]port.Port{}
	for _, p := range c.Interface {
		_, twice := ports[p.number]
		for _, o := range ports {
			twice = twice || o.Name() == p.device
		}
		if twice {
			closePorts(ports)
			return nil, cli.Usage(fmt.Errorf("-i %d@%s: port or device is there twice", p.number, p.device))
		}
		opened, err := port.Open(port.Config{Device: p.device, Kind: port.Kind(c.Ports), Workers: c.Workers, Log: log})
		if err != nil {
			closePorts(ports)
			return nil, err
		}
		ports[p.number] = opened
	}
	return ports, nil
}

func closePorts(ports map[uint32]port.Port) {
	for p := range maps.Values(ports) {
		_ = p.Close() // the process ends
	}
}

// serve lets controllers in until ctx ends.
func (c *P4Switch) serve(
	ctx context.Context, stdout io.Writer, l net.Listener, s *target.Switch, server *p4rt.Server, pipeline *p4rt.Pipeline, log *slog.Logger,
) error {
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel()
	cli.LimitMemory(ctx, log)
	if pipeline != nil {
		if err := server.SetPipeline(pipeline); err != nil {
			return cli.Usage(fmt.Errorf("%s: %w", c.Pipeline, err))
		}
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	if c.Metrics != "" {
		if err := cli.ServeMetrics(ctx, c.Metrics, "p4switch", log, target.NewCollector(s, server), collectors.NewGoCollector()); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	log.Info("up", "grpc", l.Addr().String(), "device_id", c.DeviceID, "ports", term.Words(slices.Collect(portNames(c.Interface))), "workers", c.Workers)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-signals:
			if err := c.print(stdout, s, server); err != nil {
				return err
			}
		}
	}
}

// listenGRPC takes connections at an address, or at a Unix socket.
func listenGRPC(ctx context.Context, at string) (net.Listener, error) {
	if file, ok := strings.CutPrefix(at, "unix:"); ok {
		return unixsocket.Listen(ctx, file)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", at)
}

func portNames(list []switchPort) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, p := range list {
			if !yield(fmt.Sprintf("%d@%s", p.number, p.device)) {
				return
			}
		}
	}
}

func (c *P4Switch) print(stdout io.Writer, s *target.Switch, server *p4rt.Server) error {
	r := target.Report{Stats: s.Stats(), P4Runtime: server.Stats()}
	if c.JSON {
		return plainjson.Write(stdout, r)
	}
	return r.Print(stdout)
}
