package n4

import (
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// BenchmarkPairing is a request and its response, from the ring on.
func BenchmarkPairing(b *testing.B) {
	for _, tc := range []struct {
		name              string
		request, response []byte
		at                [2]int // of the sequence number
	}{
		{"Heartbeat", octets(b, message.NewHeartbeatRequest(0, ie.NewRecoveryTimeStamp(time.Unix(1, 0)), nil)),
			octets(b, message.NewHeartbeatResponse(0, ie.NewRecoveryTimeStamp(time.Unix(1, 0)))), [2]int{4, 4}},
		{"SessionEstablishment", octets(b, message.NewSessionEstablishmentRequest(0, 0, 0, 0, 0,
			cpNode, cpSEID, far, pdr(1, access(choose)), pdr(2, core(ue("10.45.0.3"))), ie.NewSNSSAI(1, 7), ie.NewAPNDNN("internet"))),
			octets(b, message.NewSessionEstablishmentResponse(0, 0, 77, 0, 0, upNode, accept,
				ie.NewFSEID(9, net.ParseIP("10.4.0.1"), nil), ie.NewCreatedPDR(ie.NewPDRID(1), fteid(5)))), [2]int{12, 12}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			c := Config{}
			if err := c.complete(); err != nil {
				b.Fatal(err)
			}
			p := newPairing(&c, func(int) string { return "upf" })
			t := &tap{}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				request := numbered(tc.request, tc.at[0], uint32(i)&0xffffff)
				response := numbered(tc.response, tc.at[1], uint32(i)&0xffffff)
				p.take(&datagram{tap: t, ns: msNs(i), from: end(cpEnd), to: end(upEnd), payload: request})
				p.take(&datagram{tap: t, ns: msNs(i), from: end(upEnd), to: end(cpEnd), payload: response})
			}
			for _, s := range p.series {
				if s.Answered != s.Requests {
					b.Fatalf("got %+v", s.Account)
				}
			}
		})
	}
}
