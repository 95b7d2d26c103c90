package upf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf/privilege"
)

// childEnv makes the test binary a UPF, with the configuration file that it
// names.
const childEnv = "PLUMBLINE_TEST_UPF"

func TestMain(m *testing.M) {
	if file := os.Getenv(childEnv); file != "" {
		os.Exit(child(file))
	}
	os.Exit(m.Run())
}

// child is what `plumb upf` does.
func child(file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := func() error {
		c, err := Load(file)
		if err != nil {
			return err
		}
		s, err := Start(ctx, c, Options{Log: NewLogger(os.Stderr, c.Log)})
		if err != nil {
			return err
		}
		if err := privilege.Confine(c.API.Move); err != nil && !errors.Is(err, syscall.ENOTSUP) {
			return err
		}
		return errors.Join(s.Wait(ctx), s.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, errors.ErrUnsupported) {
			return 3
		}
		return 1
	}
	return 0
}

// bed is a UPF between a gNB and a data network, driven by an SMF that is not
// ours, go-pfcp.
type bed struct {
	*topology.Topology
	config *Config
	api    *Client
	smf    *smf

	process *exec.Cmd
	log     *logBuffer
}

var (
	ueAddress1 = netip.MustParseAddr("10.64.0.1")
	gnbTEID    = uint32(0x1234)
)

// newBed builds the lab's test bed and the configuration of a UPF in it.
func newBed(t *testing.T) *bed {
	t.Helper()
	return newNamedBed(t, "plt-upf")
}

func newNamedBed(t *testing.T, name string) *bed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	c := Default()
	c.N4.Address, c.N4.Peers = top.Config.N4UPF, []N4Peer{{Address: netip.PrefixFrom(top.Config.N4SMF, 32)}}
	c.N3.Device, c.N3.Address = top.N3.UPF.Device, top.Config.N3UPF.Addr()
	c.N6.Device = top.N6.UPF.Device
	c.N6.Gateway = top.Config.N6DN.Addr()
	c.Sessions.Max = 1000
	c.RestorationPeriod = 0 // but for the test of it
	c.API.Socket = filepath.Join(t.TempDir(), "upf.sock")
	return &bed{Topology: top, config: c, api: NewClient(c.API.Socket)}
}

// run starts a UPF with b.config, as a process of its own in the UPF's
// namespace.
func (b *bed) run(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "upf.yaml")
	text, err := b.config.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.log = &logBuffer{}
	b.process = exec.Command("nsenter", "--net="+b.UPF.Path(), self)
	b.process.Env = append(os.Environ(), childEnv+"="+file)
	b.process.Stderr = b.log
	if err := b.process.Start(); err != nil {
		t.Fatal(err)
	}
}

// start runs a UPF until the end of the test, and returns when it is up.
func (b *bed) start(t *testing.T) {
	t.Helper()
	b.run(t)
	t.Cleanup(func() {
		if b.process.ProcessState != nil {
			return
		}
		if t.Failed() {
			b.explain(t)
		}
		b.process.Process.Kill()
		b.process.Wait()
		t.Logf("log of the UPF:\n%s", b.log)
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := b.api.Config(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not up: %v\n%s", err, b.log)
		}
	}
}

// explain logs what helps to understand a failure.
func (b *bed) explain(t *testing.T) {
	for metric, values := range b.scrape(t) {
		if metric == "upf_drops_total" || metric == "upf_passes_total" {
			for labels, n := range values {
				if n > 0 {
					t.Logf("%s{%s} %v", metric, labels, n)
				}
			}
		}
	}
	peers, err := b.api.Peers(context.Background())
	t.Logf("peers: %+v, %v", peers, err)
	if page, err := b.api.Sessions(context.Background(), SessionQuery{}); err == nil {
		for _, row := range page.Sessions {
			s, err := b.api.Session(context.Background(), row.SEID)
			t.Logf("session: %+v, %v", s, err)
		}
	}
}

// stop asks the UPF to end, and waits for it.
func (b *bed) stop(t *testing.T) {
	t.Helper()
	if err := b.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := b.process.Wait(); err != nil {
		t.Errorf("after SIGTERM: got %v, want exit code 0", err)
	}
}

// listen opens a UDP socket in a namespace.
func listen(t *testing.T, ns *topology.Namespace, addr netip.AddrPort) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := ns.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// receive returns the next datagram.
func receive(t *testing.T, conn *net.UDPConn) []byte {
	t.Helper()
	buf := make([]byte, 2048)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// scrape reads the metrics page from within the UPF's namespace.
func (b *bed) scrape(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			err = b.UPF.Do(func() error {
				conn, err = new(net.Dialer).DialContext(ctx, network, addr)
				return err
			})
			return conn, err
		}}}
	defer client.CloseIdleConnections()
	return scrape(t, &client, b.config.Metrics.Address.String())
}
