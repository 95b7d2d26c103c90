package xdp

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Two UEs behind the NAT: that of the packet table, and another.
const (
	natTEID, natTEID2 = 0x63, 0x6b
	natSEID2          = 60
	lenTunnel         = 14 + 20 + 8 + 16 // in front of a user packet, container included
)

func natSessions() []*api.Session {
	for _, s := range conformance.Sessions() {
		if s.GetRules()[0].GetDetect().GetFTeid().GetTeid() != natTEID {
			continue
		}
		other := proto.CloneOf(s)
		other.Seid = natSEID2
		other.Rules[0].Detect.FTeid.Teid = natTEID2
		for _, r := range other.Rules {
			r.Detect.UeAddress.Ipv4++
			r.Detect.UeAddress.Ipv6Prefix++
		}
		return []*api.Session{s, other}
	}
	return nil
}

// natBed is programs and model with the two sessions and one clock.
type natBed struct {
	sharedBed
	oracle *stages.UPF
	told   [][]byte // what the oracle sends of its own accord
	tunnel []byte   // headers of the uplink packet of the table
	all    []*api.Session
}

func openNAT(f testing.TB) *natBed {
	b := &natBed{sharedBed: openShared(f, Config{}, bedPorts()), all: natSessions()}
	b.oracle = stages.New(stages.Config{
		Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions, Hosts: conformance.HostAddresses, Now: b.clock.read,
		MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6, Advertise: &conformance.Advertise,
		Send: func(packet []byte) { b.told = append(b.told, bytes.Clone(packet)) },
	})
	for _, s := range b.all {
		c := &api.Change{Seid: s.GetSeid(), Session: s}
		for _, d := range []interface {
			Apply(context.Context, *api.Change) error
		}{b, b.oracle} {
			if err := d.Apply(context.Background(), c); err != nil {
				f.Fatal(err)
			}
		}
	}
	return b
}

// natPacket is one that arrives: of one of the UEs, or from outside.
type natPacket struct {
	up, second bool
	user       []byte
}

// frame is the packet as it arrives.
func (b *natBed) frame(p natPacket) (port conformance.Port, frame []byte) {
	if !p.up {
		frame = append(bytes.Repeat([]byte{2}, 12), 8, 0)
		if len(p.user) > 0 && p.user[0]>>4 == 6 {
			frame[12], frame[13] = 0x86, 0xdd
		}
		return conformance.N6NAT, append(frame, p.user...)
	}
	frame = append(bytes.Clone(b.tunnel), p.user...)
	binary.BigEndian.PutUint16(frame[14+2:], uint16(len(frame)-14))
	binary.BigEndian.PutUint16(frame[14+20+4:], uint16(len(frame)-14-20))
	binary.BigEndian.PutUint16(frame[14+20+8+2:], uint16(len(frame)-14-20-8-8))
	if p.second {
		binary.BigEndian.PutUint32(frame[upTEIDAt:], natTEID2)
	}
	return conformance.N3, frame
}

// both lets a packet arrive at programs and model.
func (b *natBed) both(t *testing.T, p natPacket) {
	t.Helper()
	port, frame := b.frame(p)
	b.told = nil
	treat := b.oracle.FromN3
	if port == conformance.N6NAT {
		treat = func(frame []byte) stages.Frame {
			return b.oracle.FromNetwork(int(conformance.N6NAT-conformance.N6)+1, frame)
		}
	}
	want := treat(bytes.Clone(frame))
	got := b.Frame(t, port, frame)
	if got.Reason != want.Reason || !bytes.Equal(got.Packet, want.Packet) {
		t.Errorf("%+v\nxdp   %v %x\nmodel %v %x", p, got.Reason, got.Packet, want.Reason, want.Packet)
	}
	if diff := cmp.Diff(b.told, b.Sent(t)); diff != "" {
		t.Errorf("%+v: what else is sent (-model +xdp):\n%s", p, diff)
	}
	for _, s := range b.all {
		if diff := cmp.Diff(usageOf(t, b.oracle, s), usageOf(t, b, s), protocmp.Transform()); diff != "" {
			t.Errorf("%+v: usage of session %d (-model +xdp):\n%s", p, s.GetSeid(), diff)
		}
	}
}

// FuzzNAT: whatever two packets arrive behind those that make mappings, programs
// and model make the same of them, octet for octet, and count the same.
func FuzzNAT(f *testing.F) {
	b := openNAT(f)
	var opening []natPacket
	made := map[byte]bool{}
	for _, frame := range conformance.Frames(conformance.N3) {
		if len(frame) <= lenTunnel || binary.BigEndian.Uint32(frame[upTEIDAt:]) != natTEID {
			continue
		}
		b.tunnel = frame[:lenTunnel]
		user := frame[lenTunnel:]
		if protocol := user[9]; user[0]>>4 == 4 && !made[protocol] { // one that makes a mapping
			made[protocol] = true
			opening = append(opening, natPacket{true, false, user})
		}
		hairpin := bytes.Clone(user)
		pool := netip.MustParsePrefix("198.51.100.0/30").Addr().As4()
		if user[0]>>4 == 4 {
			copy(hairpin[16:], pool[:])
			hairpin[15]++ // the second UE
		}
		f.Add(true, false, user, true, true, hairpin)
		f.Add(true, true, hairpin, false, false, user)
	}
	for _, frame := range conformance.Frames(conformance.N6NAT) {
		f.Add(false, false, frame[14:], true, false, opening[0].user)
	}
	f.Fuzz(func(t *testing.T, up, second bool, user []byte, up2, second2 bool, user2 []byte) {
		// BPF_PROG_RUN takes, in one page, no more.
		if len(user) > 2800 || len(user2) > 2800 || len(opening) == 0 {
			t.Skip()
		}
		b.Pass(3 * time.Hour) // all mappings of before are gone
		for _, p := range append(opening[:len(opening):len(opening)], natPacket{up, second, user}, natPacket{up2, second2, user2}) {
			b.both(t, p)
		}
	})
}
