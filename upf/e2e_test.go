package upf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"plumbline/lab/topology"
	"plumbline/upf/privilege"
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
		if err := privilege.Confine(); err != nil && !errors.Is(err, syscall.ENOTSUP) {
			return err
		}
		return errors.Join(s.Wait(ctx), s.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
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
	top, err := topology.New(topology.Config{Name: "plt-upf"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	c := Default()
	c.N4 = N4{top.Config.N4UPF, []netip.Prefix{netip.PrefixFrom(top.Config.N4SMF, 32)}}
	c.N3 = N3{top.N3.UPF.Device, top.Config.N3UPF.Addr()}
	c.N6.Device = top.N6.UPF.Device
	c.N6.Gateway = top.Config.N6DN.Addr()
	c.Sessions.Max = 1000
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

// TestEndToEnd takes a UPF through its life: up, associated, a session that
// carries a packet each way and one for nobody, what the local API and the
// metrics page say about it, deleted, stopped, nothing left.
func TestEndToEnd(t *testing.T) {
	b := newBed(t)
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	s := b.smf.establish(t)
	b.sendPackets(t, s)

	b.checkAPI(t, s)
	b.checkMetrics(t)
	b.smf.delete(t, s)
	if page, err := b.api.Sessions(t.Context(), SessionQuery{}); err != nil || page.Total != 0 {
		t.Errorf("after deletion: got %+v, %v, want no session", page, err)
	}
	b.stop(t)
	b.checkNothingLeft(t)
}

// sendPackets sends a packet uplink, one downlink and one to a TEID of nobody.
func (b *bed) sendPackets(t *testing.T, s established) {
	t.Helper()
	server := listen(t, b.DN, netip.AddrPortFrom(b.Config.N6DN.Addr(), 9000))
	gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
	n3 := net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.n3, 2152))

	packet := udpPacket(ueAddress1, b.Config.N6DN.Addr(), "uplink")
	if _, err := gnb.WriteTo(gpdu(uint32(s.teid)+1, 9, packet), n3); err != nil {
		t.Fatal(err)
	}
	if _, err := gnb.WriteTo(gpdu(uint32(s.teid), 9, packet), n3); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, server); string(got) != "uplink" {
		t.Errorf("uplink: got %q", got)
	}
	if _, err := server.WriteTo([]byte("downlink"), &net.UDPAddr{IP: ueAddress1.AsSlice(), Port: 9000}); err != nil {
		t.Fatal(err)
	}
	got := receive(t, gnb)
	teid, qfi, inner := parseGPDU(t, got)
	if teid != gnbTEID || qfi != 9 || string(inner[28:]) != "downlink" {
		t.Errorf("downlink: got TEID %#x, QFI %d, %x", teid, qfi, inner)
	}
}

func (b *bed) checkAPI(t *testing.T, s established) {
	t.Helper()
	got, err := b.api.Session(t.Context(), s.seid)
	if err != nil {
		t.Fatal(err)
	}
	node := b.Config.N4SMF.String()
	if got.NodeID != node || got.CPSEID != 0xc0ffee {
		t.Errorf("session: got node %q, CP SEID %v, want %q, %v", got.NodeID, got.CPSEID, node, SEID(0xc0ffee))
	}
	var usage []Usage
	for _, p := range got.Rules.PDRs {
		usage = append(usage, p.Usage)
	}
	// Octets of the user packets: IP and UDP header, "uplink" and "downlink".
	want := []Usage{{Packets: 1, Octets: 28 + 6}, {Packets: 1, Octets: 28 + 8}}
	if diff := cmp.Diff(want, usage); diff != "" {
		t.Errorf("usage: -want +got\n%s", diff)
	}
	a, err := b.api.Associations(t.Context())
	if err != nil || len(a.Associations) != 1 || a.Associations[0].NodeID != node || a.Associations[0].Sessions != 1 {
		t.Errorf("associations: got %+v, %v, want one of %s with 1 session", a, err, node)
	}
	d, err := b.api.Datapath(t.Context())
	if err != nil || d.Name != "xdp" || d.MemoryOctets == 0 || len(d.Devices) != 2 || d.Devices[0].Mode != ModeNative {
		t.Errorf("datapath: got %+v, %v, want native xdp on two devices", d, err)
	}
	p, err := b.api.Peers(t.Context())
	if err != nil || len(p.Peers) < 2 || p.Peers[0].Address != b.Config.N3GNB.Addr() || p.Peers[0].MAC != b.N3.Peer.MAC.String() {
		t.Errorf("peers: got %+v, %v, want the gNB first, with its MAC %s", p, err, b.N3.Peer.MAC)
	}
	drops, err := b.api.Drops(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drops.Drops {
		if want := map[bool]uint64{true: 1}[d.Reason == "no_pdr"]; d.Packets != want {
			t.Errorf("drops %s: got %d, want %d", d.Reason, d.Packets, want)
		}
	}
}

func (b *bed) checkMetrics(t *testing.T) {
	t.Helper()
	page := b.scrape(t)
	checkDocumented(t, page)
	for _, m := range []struct {
		name, labels string
		want         float64
	}{
		{"upf_sessions", "", 1},
		{"upf_sessions_max", "", 1000},
		{"upf_associations", "", 1},
		{"upf_forwarded_packets_total", "direction=uplink ", 1},
		{"upf_forwarded_bytes_total", "direction=uplink ", 28 + 6},
		{"upf_forwarded_bytes_total", "direction=downlink ", 28 + 8},
		{"upf_drops_total", "reason=no_pdr ", 1},
		{"upf_drops_total", "reason=mbr ", 0},
		{"upf_device_info", "device=" + b.N3.UPF.Device + " interface=N3 mode=native ", 1},
		{"upf_pfcp_messages_total", "direction=received type=session_establishment_request ", 1},
		{"upf_pfcp_messages_total", "direction=sent type=session_establishment_response ", 1},
		{"upf_pfcp_messages_total", "direction=received type=session_deletion_request ", 0},
		{"upf_pfcp_responses_total", "cause=request_accepted ", 2},
		{"upf_pfcp_duplicates_total", "", 0},
		{"upf_pfcp_request_duration_seconds", "type=session_establishment_request ", 1},
	} {
		if got, ok := page[m.name][m.labels]; !ok || got != m.want {
			t.Errorf("%s{%s}: got %v (%t), want %v", m.name, m.labels, got, ok, m.want)
		}
	}
}

// checkDocumented: every metric of the UPF is explained.
func checkDocumented(t *testing.T, page map[string]map[string]float64) {
	t.Helper()
	howto, err := os.ReadFile(filepath.Join("..", "docs", "howto-upf.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range page {
		if strings.HasPrefix(name, "upf_") && !strings.Contains(string(howto), "`"+name+"`") {
			t.Errorf("docs/howto-upf.md: no metric %s", name)
		}
	}
}

// checkNothingLeft: no program on the devices, no socket, no port taken.
func (b *bed) checkNothingLeft(t *testing.T) {
	t.Helper()
	if _, err := os.Lstat(b.config.API.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("api socket: got %v, want none", err)
	}
	err := b.UPF.Do(func() error {
		for _, name := range []string{b.N3.UPF.Device, b.N6.UPF.Device} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if x := link.Attrs().Xdp; x != nil && x.Attached {
				t.Errorf("%s: XDP program %d still attached", name, x.ProgId)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	listen(t, b.UPF, netip.AddrPortFrom(b.config.N4.Address, 8805))
	listen(t, b.UPF, netip.AddrPortFrom(b.config.N3.Address, 2152))
}
