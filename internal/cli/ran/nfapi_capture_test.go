package rancmd

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/pcapng"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// run runs plumb nfapi with args.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	var command struct {
		NFAPI NFAPI `cmd:"" name:"nfapi"`
	}
	parser, err := kong.New(&command, kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(stdout, (*io.Writer)(nil)))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return parsed.Run()
}

// nfapiCapture writes a capture of one SLOT.indication and a DL_TTI.request that is
// cut short, behind a checksum that is wrong, with a snap length.
func nfapiCapture(t *testing.T, snap int) string {
	t.Helper()
	var file bytes.Buffer
	w := pcapng.NewWriter(&file, "test")
	link, err := w.Interface("p7", pcapng.Ethernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []nfapi.Message{&nfapi.SlotIndication{SFN: 1023, Slot: 19}, &nfapi.Opaque{ID: nfapi.MsgDLTTIRequest, Body: []byte{0, 0, 0, 1, 1, 0}}} {
		b := make([]byte, 64)
		n, err := nfapi.OAI2025.EncodeP7(&nfapi.Header{PhyID: 1, Checksum: uint32(i)}, m, b)
		if err != nil {
			t.Fatal(err)
		}
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 2}, DstIP: net.IP{10, 0, 0, 1}}
		udp := &layers.UDP{SrcPort: 50010, DstPort: 50011}
		_ = udp.SetNetworkLayerForChecksum(ip)
		buffer := gopacket.NewSerializeBuffer()
		eth := &layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
		if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(b[:n])); err != nil {
			t.Fatal(err)
		}
		frame := buffer.Bytes()
		if err := w.Packet(&pcapng.Packet{Interface: link, At: time.Unix(1_790_000_000, int64(i)*500_000), Data: frame[:min(snap, len(frame))], Octets: len(frame)}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "slots.pcapng")
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNFAPIDecodeCapture: a line for each message, or a record, and an error if one
// could not be decoded.
func TestNFAPIDecodeCapture(t *testing.T) {
	path := nfapiCapture(t, 1000)
	var out bytes.Buffer
	err := run(context.Background(), []string{"nfapi", "decode", path}, &out)
	if err == nil || cli.ExitCode(err) != cli.ExitFailed || !strings.Contains(err.Error(), "1 messages could not be decoded") {
		t.Errorf("got %v", err)
	}
	want := "    0.000000 10.0.0.2:50010 > 10.0.0.1:50011 P7 oai-2025 phy 1 SLOT.indication 1023.19: 4 octets\n" +
		"    0.000500 10.0.0.2:50010 > 10.0.0.1:50011 P7 oai-2025 phy 1 DL_TTI.request: 6 octets, checksum 00000001 is wrong, "
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "1 elements in 0 octets: truncated\n") {
		t.Errorf("got %s\nwant %s", got, want)
	}
	out.Reset()
	if err := run(context.Background(), []string{"nfapi", "decode", "--json", path}, &out); err == nil {
		t.Error("no error")
	}
	for _, part := range []string{`"profile":"oai-2025","segments":1,"message":{"header":{"generation":"2025","message":"SLOT.indication"`, `"sfn":1023,"slot":19}}`, `"error":"nfapi: DL_TTI.request`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("got %s\nwant %s", out.String(), part)
		}
	}
}

// TestNFAPIDecodeCut: of packets that are cut off no message is decoded, a line says which ones
// they were, and the exit code is not 0.
func TestNFAPIDecodeCut(t *testing.T) {
	for snap, want := range map[int]string{62: "2 messages are cut off by the capture's snap length", 55: "no message: 2 packets are cut off by the capture's snap length"} {
		path := nfapiCapture(t, snap)
		var text, asJSON bytes.Buffer
		for args, out := range map[string]*bytes.Buffer{"--profile=": &text, "--json": &asJSON} {
			if err := run(context.Background(), []string{"nfapi", "decode", args, path}, out); err == nil || cli.ExitCode(err) != cli.ExitFailed || !strings.Contains(err.Error(), want) {
				t.Errorf("%d octets: got %v, want %q", snap, err, want)
			}
		}
		const line, record = "SLOT.indication: 4 octets, 20 of 22 octets: cut off by the capture's snap length\n", `"error":"SLOT.indication: 20 of 22 octets: cut off by the capture's snap length"}`
		if has := snap == 62; strings.Contains(text.String(), line) != has || strings.Contains(asJSON.String(), record) != has {
			t.Errorf("%d octets: got %s and %s", snap, text.String(), asJSON.String())
		}
	}
}

// TestNFAPIDecodeNothing: no message, and what could not be looked at, is a failure; of a capture
// that has something else, nothing need be said.
func TestNFAPIDecodeNothing(t *testing.T) {
	const ip = "4500003c000000004084 0000 0a000001 0a000002"
	for name, test := range map[string]struct{ packet, want string }{
		"I-DATA":      {ip + "c351a028 00000005 00000000 40030014" + strings.Repeat("00", 24), "no message: 1 I-DATA chunks of P5 over SCTP are not read"},
		"a heartbeat": {ip + "c351a028 00000005 00000000 0400001c" + strings.Repeat("00", 24), ""},
		"short":       {ip + "c351a028", "no message: 1 packets are shorter than their IP header says"},
		"other ports": {ip + "0001a028 00000005 00000000 40030014" + strings.Repeat("00", 24), ""},
	} {
		frame, err := hex.DecodeString(strings.ReplaceAll("0200000000010200000000020800"+test.packet, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		w := pcapgo.NewWriter(&file)
		if err := errors.Join(w.WriteFileHeader(65535, layers.LinkTypeEthernet),
			w.WritePacket(gopacket.CaptureInfo{CaptureLength: len(frame), Length: len(frame)}, frame)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "nothing.pcap")
		if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		err = run(context.Background(), []string{"nfapi", "decode", path}, io.Discard)
		if cli.ExitCode(err) != min(len(test.want), cli.ExitFailed) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestNFAPIAnalyze: text, JSON and a page of the same capture, also from standard input.
func TestNFAPIAnalyze(t *testing.T) {
	path := nfapiCapture(t, 1000)
	page := filepath.Join(t.TempDir(), "page.html")
	var text, asJSON bytes.Buffer
	if err := run(context.Background(), []string{"nfapi", "analyze", path, "--slot-ahead", "4", "--html", page}, &text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 could not be decoded, 1 with a wrong checksum", "VNF 10.0.0.1, PNF 10.0.0.2:50010, PHY 1, oai-2025, numerology 1, SLOT.indication 4 slots ahead",
		"SLOT.indication: 1, 0 missing",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("1 messages could not be decoded")) {
		t.Errorf("got %.200s, %v", b, err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = in
	err = run(context.Background(), []string{"nfapi", "analyze", "-", "--json", "-"}, &asJSON)
	os.Stdin = stdin
	if err != nil || !strings.Contains(asJSON.String(), `"schema": "plumbline.nfapi-analysis/1"`) || !strings.Contains(asJSON.String(), `"slot_ahead": -1`) {
		t.Errorf("got %s, %v", asJSON.String(), err)
	}
}
