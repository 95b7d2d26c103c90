package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf"
)

// gnbBed is `plumb upf` and `plumb gnb --n4` with UEs, whose packets a data network sends back.
type gnbBed struct {
	*trafficBed
	config *upf.Config
	file   string
	upf    *process
	gnb    *process
	api    *upf.Client
	ues    []*topology.Namespace
}

func newGNBBed(t *testing.T, name string, configure func(*gnbBed)) *gnbBed {
	t.Helper()
	b := &gnbBed{trafficBed: newTrafficBed(t, name)}
	b.config = b.upfConfig()
	b.config.Sessions.Max = 1000
	configure(b)
	b.file = b.trafficBed.file("upf.yaml", b.config)
	b.api = upf.NewClient(b.config.API.Socket)
	b.echo()

	var text strings.Builder
	fmt.Fprintf(&text, "n3: {address: %v, namespace: %s}\nues:\n", b.N3.Peer.Address.Addr(), b.GNB.Name)
	ue := b.template.UE
	for i := range 2 {
		ns, err := b.AddUE(name)
		if err != nil {
			t.Fatal(err)
		}
		b.ues = append(b.ues, ns)
		fmt.Fprintf(&text, "- {name: ue, namespace: %s, addresses: [%v], downlink_teid: %d, qfi: %d}\n", ns.Name, ue, i+1, i+5)
		ue = ue.Next()
	}
	file := filepath.Join(b.dir, "gnb.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.gnb = b.plumb("", "gnb", "--config", file, "--n4", b.Config.N4UPF.String(), "--smf", b.Config.N4SMF.String())
	b.gnb.wait("msg=up ")
	return b
}

func (b *gnbBed) start() {
	b.upf = b.plumb("", "upf", "--config", b.file)
	b.upf.wait("msg=up ")
}

const echoPort = 7

// heartbeatEvery is how often plumb gnb --n4 asks whether the UPF is there.
const heartbeatEvery = 5 * time.Second

// echo is a server of the data network.
func (b *gnbBed) echo() {
	b.t.Helper()
	var conn *net.UDPConn
	err := b.DN.Do(func() (err error) {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N6.Peer.Address.Addr(), echoPort)))
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
}

// reaches: what each UE sends comes back.
func (b *gnbBed) reaches(what string) {
	b.t.Helper()
	for i, ns := range b.ues {
		if err := ns.Do(func() error { return b.ask(patience) }); err != nil {
			b.t.Fatalf("%s: UE %d: %v\n%s\n%s", what, i, err, b.gnb.log(), b.upf.log())
		}
	}
}

func (b *gnbBed) ask(patience time.Duration) error {
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N6.Peer.Address.Addr(), echoPort)))
	if err != nil {
		return err
	}
	defer conn.Close()
	for deadline := time.Now().Add(patience); ; {
		if _, err := conn.Write([]byte("echo")); err != nil {
			return err
		}
		if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			return err
		}
		if _, err = conn.Read(make([]byte, 1500)); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// held are the SEIDs of the UPF's sessions.
func (b *gnbBed) held() []upf.SEID {
	b.t.Helper()
	page, err := b.api.Sessions(b.t.Context(), upf.SessionQuery{})
	if err != nil {
		b.t.Fatal(err)
	}
	var all []upf.SEID
	for _, s := range page.Sessions {
		all = append(all, s.SEID)
	}
	return all
}

// says checks how often the gNB's log has a text.
func (b *gnbBed) says(text string, want int) {
	b.t.Helper()
	if got := strings.Count(b.gnb.log(), text); got != want {
		b.t.Errorf("%q is %d times in the log, want %d:\n%s", text, got, want, b.gnb.log())
	}
}

// What the gNB says.
const (
	saysSilent = "UPF does not answer heartbeats"
	saysAgain  = "UPF answers heartbeats again"
	saysAnew   = "association and sessions are set up anew"
)

// TestGNBAfterLoss: a UPF that was killed and has kept nothing gets its sessions again, and one
// that asks for the release before it stops, too.
func TestGNBAfterLoss(t *testing.T) {
	b := newGNBBed(t, "plt-gnb-lost", func(b *gnbBed) {
		b.config.N4.Release = true
		b.config.XDP.Pin = ""
		b.config.Store.Path = ""
	})
	b.reaches("before")
	before := b.held()
	b.upf.kill()
	b.gnb.wait(saysSilent)
	b.start()
	b.gnb.wait("UPF has lost all sessions: " + saysAnew)
	b.reaches("after kill -9")
	if now := b.held(); len(now) != 2 || slices.ContainsFunc(now, func(s upf.SEID) bool { return slices.Contains(before, s) }) {
		t.Errorf("sessions %x, before %x: want two others", now, before)
	}
	b.says(saysSilent, 1)
	b.says(saysAgain, 1)
	b.says(saysAnew+"\" n4="+b.Config.N4UPF.String()+" sessions=2", 1)

	b.upf.stop()
	b.says("UPF asks for the release of the association", 1)
	b.start()
	b.gnb.wait("UPF had asked for the release of the association: " + saysAnew)
	b.reaches("after an orderly stop")
	b.says(saysAnew, 2)
	b.gnb.stop()
	if now := b.held(); len(now) != 0 {
		t.Errorf("sessions %x are left", now)
	}
}

// TestGNBAfterRestart: a UPF that has kept its sessions is left alone, whether its absence was
// noticed or not.
func TestGNBAfterRestart(t *testing.T) {
	b := newGNBBed(t, "plt-gnb-kept", func(b *gnbBed) {
		b.config.Store.Path = filepath.Join(b.dir, "store")
		b.config.XDP.Pin = b.pin()
	})
	b.reaches("before")
	before := b.held()
	b.upf.kill()
	b.start()
	time.Sleep(heartbeatEvery + time.Second)
	b.reaches("after a short restart")

	b.upf.kill()
	b.gnb.wait(saysSilent)
	b.start()
	b.gnb.wait(saysAgain)
	time.Sleep(heartbeatEvery + time.Second)
	b.reaches("after a long restart")
	if now := b.held(); !slices.Equal(now, before) {
		t.Errorf("sessions %x, before %x", now, before)
	}
	b.says(saysAnew, 0)
	b.gnb.stop()
}
