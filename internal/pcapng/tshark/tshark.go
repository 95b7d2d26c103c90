// Package tshark has Wireshark's dissectors judge packets in tests.
package tshark

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/pcapng"
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
	w := pcapng.NewWriter(f, "test")
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

// nobody is the user and the group of Debian that own nothing.
const nobody = 65534

// Run returns what tshark prints about a capture, to stdout and to stderr. Root runs it as
// nobody: Wireshark 4.4 loads no script that root gives it with -X lua_script.
func Run(t testing.TB, file string, args ...string) (stdout, stderr string) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	home := t.TempDir() // no preferences of the user's
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		home = directory(t)
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		file, args = legible(t, home, file), slices.Clone(args)
		for i, a := range args {
			if script, ok := strings.CutPrefix(a, scriptOption); ok {
				args[i] = scriptOption + legible(t, home, script)
			}
		}
	}
	var out, complaints bytes.Buffer
	cmd := exec.Command("tshark", append([]string{"-r", file}, args...)...)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), "HOME="+home), as
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("tshark %v: %v: %s", args, err, &complaints)
	}
	return out.String(), complaints.String()
}

// Version is that of Wireshark: "4.0.17".
func Version(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("tshark", "--version").Output()
	version, ok := strings.CutPrefix(string(out), "TShark (Wireshark) ")
	end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if err != nil || !ok || end <= 0 {
		t.Fatalf("tshark --version: %v: %q", err, out)
	}
	return strings.TrimSuffix(version[:end], ".") // "4.4.19."
}

const scriptOption = "lua_script:"

// directory is one of nobody's; those that hold t.TempDir are root's alone.
func directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tshark")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return dir
}

// legible copies a file to a directory for nobody to read, and returns the copy's path.
func legible(t testing.TB, dir, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(to, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return to
}
