package vnf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
)

// vectorsOf reads messages that OpenAirInterface has packed; nfapi/testdata/oai/README.md
// says where they are from.
func vectorsOf(t *testing.T, file string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata/oai", file))
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Vectors []struct{ Name, Hex string } }
	if err := json.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, v := range set.Vectors {
		b, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		all[v.Name] = b
	}
	return all
}

// oai is a PNF of octets alone.
type oai struct {
	t   *testing.T
	p5  net.Conn
	p7  *net.UDPConn
	all map[string][]byte
}

// request reads a request of P5, whose header has 10 octets.
func (o *oai) request() []byte {
	o.t.Helper()
	b := make([]byte, 10, 8192)
	if err := o.p5.SetReadDeadline(time.Now().Add(patience)); err != nil {
		o.t.Fatal(err)
	}
	if _, err := io.ReadFull(o.p5, b); err != nil {
		o.t.Fatal(err)
	}
	b = b[:10+binary.BigEndian.Uint32(b[4:])]
	if _, err := io.ReadFull(o.p5, b[10:]); err != nil {
		o.t.Fatal(err)
	}
	return b
}

// want compares the next request with a vector; "" is any one.
func (o *oai) want(vector string) []byte {
	o.t.Helper()
	got := o.request()
	if want, ok := o.all[vector]; vector != "" && (!ok || !bytes.Equal(got, want)) {
		o.t.Fatalf("got %x, want %s, %x", got, vector, want)
	}
	return got
}

func (o *oai) answer(b []byte) {
	o.t.Helper()
	if _, err := o.p5.Write(b); err != nil {
		o.t.Fatal(err)
	}
}

// say sends octets of P7.
func (o *oai) say(to netip.AddrPort, b []byte) {
	o.t.Helper()
	if _, err := o.p7.WriteToUDPAddrPort(b, to); err != nil {
		o.t.Fatal(err)
	}
}

// octetsMAC keeps what it is told.
type octetsMAC struct {
	fakeMAC
	told chan fapi.Indications
}

func (m *octetsMAC) Indicate(i *fapi.Indications) {
	c := *i
	if c.Have == fapi.RXData { // the octets are the datagram's
		c.RXData.PDUs = slices.Clone(c.RXData.PDUs)
		for j := range c.RXData.PDUs {
			c.RXData.PDUs[j].Payload = bytes.Clone(c.RXData.PDUs[j].Payload)
		}
	}
	m.told <- c
}

// TestOpenAirInterface: the VNF leads a PNF of OpenAirInterface's octets through P5, with
// requests that are OpenAirInterface's, octet for octet, where those have no content of
// their own, and understands its P7.
func TestOpenAirInterface(t *testing.T) {
	mac := &octetsMAC{fakeMAC: *newFakeMAC(t, 1), told: make(chan fapi.Indications, 10)}
	s := serveMAC(t, nil, func(uint16) fapi.MAC { return mac })
	o := &oai{t: t, all: vectorsOf(t, "oai-2025-09_p5.json")}
	var err error
	if o.p5, err = net.Dial("tcp", s.P5().String()); err != nil {
		t.Fatal(err)
	}
	defer o.p5.Close()
	if o.p7, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	defer o.p7.Close()

	o.want("PNF_PARAM.request")
	// TLV 1001: one PHY, phy_config_index 1, RF 0.
	phy := []byte{0x10, 0x01, 0, 19, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 100, 0, 100, 4, 4, 0, 0, 0}
	o.answer(append([]byte{0, 0, 1, 1, 0, 0, 0, byte(2 + len(phy)), 0, 0, 0, 1}, phy...))
	config := o.want("") // OpenAirInterface's has a second PHY of zeros, which does not exist
	if want := o.all["PNF_CONFIG.request"]; !bytes.Equal(config[17:23], want[17:23]) {
		t.Errorf("PNF_CONFIG.request: phy %x, want %x", config[17:23], want[17:23])
	}
	o.answer(o.all["PNF_CONFIG.response"])
	o.want("PNF_START.request")
	o.answer(o.all["PNF_START.response"])
	o.want("PARAM.request")
	o.answer([]byte{0, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0})
	cell := o.want("")
	o.answer(o.all["CONFIG.response_ok"])
	o.want("START.request")
	o.answer(o.all["START.response"])
	wait(t, "the phy runs", func() bool { return s.Stats().PNFs[0].PHYs[0].Stage == "running" })

	var m nfapi.ConfigRequest
	if err := m.DecodeBody(nfapi.OAI2025, cell[10:]); err != nil {
		t.Fatal(err)
	}
	o.exchange(endpoint(t, &m), mac)

	s.cancel()
	o.want("STOP.request")
	o.answer([]byte{0, 1, 1, 0x0f, 0, 0, 0, 1, 0, 0, 0}) // STOP.response
	o.want("PNF_STOP.request")
	o.answer(o.all["PNF_STOP.response"])
}

// exchange is P7: a tick at 513.5, and indications of 512.19.
func (o *oai) exchange(vnf netip.AddrPort, mac *octetsMAC) {
	t := o.t
	t.Helper()
	p7 := vectorsOf(t, "oai-2025-09_p7.json")
	tick := bytes.Clone(p7["SLOT.indication"])
	copy(tick[18:], []byte{2, 1, 0, 5})
	got := make([]byte, 65536)
	o.say(vnf, tick)
	if err := o.p7.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	n, err := o.p7.Read(got)
	if err != nil {
		t.Fatal(err)
	}
	h, body, err := nfapi.OAI2025.ParseP7(got[:n])
	sfn, slot, _ := nfapi.OAI2025.PeekSlot(h.MessageID, body)
	if state, _ := nfapi.OAI2025.Verify(&h, got[:n]); err != nil || h.Generation != nfapi.Gen2025 || sfn != 513 || slot != 5 || state != nfapi.ChecksumCorrect {
		t.Errorf("got %+v for %d.%d, checksum %v, %v", h, sfn, slot, state, err)
	}
	for _, name := range []string{"RX_DATA.indication_2x1500", "CRC.indication_2", "UCI.indication_2_F01"} {
		o.say(vnf, p7[name])
		select {
		case i := <-mac.told:
			if !sane(&i) {
				t.Errorf("%s: got %+v", name, i)
			}
		case <-time.After(patience):
			t.Fatalf("%s does not reach the mac", name)
		}
	}
}

// sane reports whether an indication is that of the vectors: slot 512.19, two PDUs of
// RNTI 0x4601 and another.
func sane(i *fapi.Indications) bool {
	if i.At != 512*20+19 {
		return false
	}
	switch i.Have {
	case fapi.RXData:
		return len(i.RXData.PDUs) == 2 && i.RXData.PDUs[0].RNTI == 0x4601 && len(i.RXData.PDUs[1].Payload) == 1500
	case fapi.CRC:
		return len(i.CRC.CRCs) == 2 && i.CRC.CRCs[0].RNTI == 0x4601
	case fapi.UCI:
		return len(i.UCI.UCIs) == 2
	}
	return false
}
