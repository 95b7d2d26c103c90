package phy

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

// TestDevice pings from a UE's namespace; who answers is behind the gNB's bearer.
//
//	plt-…-phy                                the test
//	ping ─ nfapi-ue0 10.45.0.2 ─ UE ─ air ─ transport blocks ─ echo 10.45.0.1
func TestDevice(t *testing.T) {
	namespace := programs.NewNamespace(t, "phy")
	r := testRadio()
	r.UEs[0].Addresses = []netip.Addr{netip.MustParseAddr("10.45.0.2")}
	r.UEs[1].Addresses = []netip.Addr{netip.MustParseAddr("10.45.0.3")}
	b := newAttachedBed(t, r, Config{Device: &ue.DeviceConfig{Name: "nfapi-ue", Namespace: namespace}})
	t.Cleanup(func() {
		if err := b.phy.Close(); err != nil {
			t.Error(err)
		}
	})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				b.echo(wholeUplink)
			}
		}
	}()
	programs.Ping(t, namespace, netip.MustParseAddr("10.45.0.1"), 1400)
	close(stop)
	<-done
	s := b.phy.Stats()
	if down, up := s.UEs[0].Downlink.Packets, s.UEs[0].Uplink.Packets; down < programs.Answers || up < down || s.DeviceLost != 0 {
		t.Errorf("got %d packets down, %d up, %d lost by the device", down, up, s.DeviceLost)
	}
}

// echo runs a pattern in which what the first UE sends comes back.
func (b *bed) echo(up dci.Uplink) {
	up.NDI = uint8(b.at / 10 % 2)
	for n := range 10 {
		switch {
		case n == 6:
			b.grant(0, up)
		case n == 8:
			b.pusch(0, up)
		case n < 7 && b.bearers[0].Buffered() > 0:
			b.ndi[n] ^= 1
			m := dci.Downlink{PRBs: 106, MCS: 20, HARQ: uint8(n), NDI: b.ndi[n]}
			b.assign(0, m, b.block(0, m))
		}
		if i := b.run(); n == 8 && len(i.RXData.PDUs) == 1 {
			b.receive(0, i.RXData.PDUs[0].Payload)
		}
	}
	for _, p := range b.uplink {
		if answer := echoReply([]byte(p.in)); answer != nil {
			b.bearers[0].Send(p.qfi, answer)
		}
	}
	b.uplink = b.uplink[:0]
	time.Sleep(100 * time.Microsecond) // not real time: the next pattern does not wait for slots
}

// echoReply makes the answer of an ICMP Echo Request.
func echoReply(p []byte) []byte {
	const icmp, echo = 1, 8
	if len(p) < inet.LenIPv4+8 || p[0] != 0x45 || p[9] != icmp || p[inet.LenIPv4] != echo {
		return nil
	}
	source := [4]byte(p[12:])
	copy(p[12:16], p[16:20])
	copy(p[16:20], source[:])
	p[inet.LenIPv4] = 0
	sum := uint32(binary.BigEndian.Uint16(p[inet.LenIPv4+2:])) + echo<<8
	binary.BigEndian.PutUint16(p[inet.LenIPv4+2:], uint16(sum+sum>>16))
	return p
}

func TestDeviceErrors(t *testing.T) {
	r := testRadio()
	for _, tc := range []struct {
		name   string
		device ue.DeviceConfig
		want   string
	}{
		{"no address", ue.DeviceConfig{Name: "nfapi-ue"}, "0 IPv4"},
		{"MTU beyond PDCP", ue.DeviceConfig{Name: "nfapi-ue", MTU: 9001}, "device.mtu: 9001"},
		{"route with host bits", ue.DeviceConfig{Name: "nfapi-ue", Routes: []netip.Prefix{netip.MustParsePrefix("10.6.0.1/24")}}, "device.routes[0]: 10.6.0.1/24: want a prefix without host bits"},
		{"namespace by a path from here", ue.DeviceConfig{Name: "nfapi-ue", Namespace: "../x"}, `device.namespace: "../x"`},
		{"no name", ue.DeviceConfig{}, "device.name: not set: want the name of a new device"},
		{"name of a path", ue.DeviceConfig{Name: "a/b"}, "a/b1"},
	} {
		if _, err := New(r, Config{Device: &tc.device}, nil); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want ErrConfig about %q", tc.name, err, tc.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	r := testRadio()
	for _, c := range []Config{{CRCFailureDownlink: -0.1}, {CRCFailureUplink: 1.1}} {
		if _, err := New(r, c, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: got %v, want ErrConfig", c, err)
		}
	}
	r.Pattern = "DDD"
	if _, err := New(r, Config{}, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
}
