package upf

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

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
	// The packet for nobody is answered, sooner or later than that.
	wrong, got := receive(t, gnb), receive(t, gnb)
	if wrong[1] == 0xff {
		wrong, got = got, wrong
	}
	if diff := cmp.Diff(errorIndication(uint32(s.teid)+1, s.n3, wrong[8:10]), wrong); diff != "" {
		t.Errorf("for a TEID of nobody (-want +got):\n%s", diff)
	}
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
