// Package tshark has Wireshark's dissectors judge packets in tests.
package tshark

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"plumbline/pcapng"
)

// Capture writes Ethernet frames to a pcapng file, which is removed when the test ends, and
// returns its path.
func Capture(t testing.TB, frames [][]byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.pcapng")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pcapng.NewWriter(f, "test")
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.Interface("test", pcapng.Ethernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range frames {
		if err := w.Packet(&pcapng.Packet{Interface: link, At: time.Unix(1_790_000_000, int64(i)), Data: b, Octets: len(b)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// UDP returns the Ethernet frame of a UDP datagram over IPv4.
func UDP(t testing.TB, from, to netip.AddrPort, payload []byte) []byte {
	t.Helper()
	udp := &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port())}
	ip := &layers.IPv4{SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice(), Protocol: layers.IPProtocolUDP}
	_ = udp.SetNetworkLayerForChecksum(ip)
	return Frame(t, ip, udp, gopacket.Payload(payload))
}

// Frame returns the Ethernet frame of an IPv4 packet with what it carries; lengths and
// checksums are computed.
func Frame(t testing.TB, ip *layers.IPv4, carried ...gopacket.SerializableLayer) []byte {
	t.Helper()
	ip.Version, ip.TTL = 4, 64
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buffer, options, append([]gopacket.SerializableLayer{eth, ip}, carried...)...); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// Run returns what tshark prints about a capture, to stdout and to stderr.
func Run(t testing.TB, file string, args ...string) (stdout, stderr string) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	var out, complaints bytes.Buffer
	cmd := exec.Command("tshark", append([]string{"-r", file}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // no preferences of the user's
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("tshark %v: %v: %s", args, err, &complaints)
	}
	return out.String(), complaints.String()
}
