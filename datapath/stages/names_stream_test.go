package stages

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfStreams: each request is read from the stream, however that is cut, and
// while one is not whole, or if it is invalid, the flow has no name.
func TestNamesOfStreams(t *testing.T) {
	const (
		free  = "GET / HTTP/1.1\r\nHost: free.test\r\n\r\n"
		paid  = "GET /paid HTTP/1.1\r\nCookie: 123456789\r\nHost: paid.test\r\n\r\n"
		post  = "POST / HTTP/1.1\r\nHost: paid.test\r\nContent-Length: 40\r\n\r\n"
		chunk = "POST / HTTP/1.1\r\nHost: paid.test\r\nTransfer-Encoding: chunked\r\n\r\n"
	)
	client := string(hello(t, &tls.Config{ServerName: "free.test"}))
	type say struct {
		at   int // sequence number behind the SYN's; -1: where the one before ends
		data string
		want string // host; "": none
	}
	load := "POST / HTTP/1.1\r\nHost: paid.test\r\nContent-Length: 20000\r\n\r\n"
	var ahead []say
	for i := range 20 {
		ahead = append(ahead, say{len(free) + 2*i, "GE", ""})
	}
	for _, tc := range []struct {
		name string
		said []say
	}{
		{"a second request in two segments", []say{{0, free, "free.test"}, {-1, paid[:30], ""}, {-1, paid[30:], "paid.test"}}},
		{"the other way round", []say{{0, paid, "paid.test"}, {-1, free[:20], ""}, {-1, free[20:], "free.test"}}},
		{"cut behind the first octet", []say{{0, free + "G", ""}, {-1, paid[1:], "paid.test"}}},
		{"two in one segment", []say{{0, free + paid, "paid.test"}}},
		{"a segment again", []say{{0, free, "free.test"}, {0, free, "free.test"}, {-1, "", "free.test"}}},
		{"two Hosts", []say{{0, free, "free.test"}, {-1, "GET / HTTP/1.1\r\nHost: free.test\r\nHost: paid.test\r\n\r\n", ""}, {-1, free, ""}}},
		{"no request behind one", []say{{0, free, "free.test"}, {-1, "\x01\x02", ""}, {-1, free, ""}}},
		{"a request in a body", []say{{0, post, "paid.test"}, {-1, free, "paid.test"}, {-1, "1234" + free, "free.test"}}},
		{"a body of which some does not come by", []say{{0, post, "paid.test"}, {len(post) + 30, "0123456789", "paid.test"}, {-1, free, "free.test"}}},
		{"chunks", []say{{0, chunk + "24\r\n", "paid.test"}, {-1, free, "paid.test"}, {-1, "\r\n0\r\n", "paid.test"}, {-1, "\r\n" + free, "free.test"}}},
		{"a tunnel", []say{{0, "CONNECT free.test:443 HTTP/1.1\r\nHost: free.test:443\r\n\r\n", "free.test"}, {-1, client, "free.test"}, {-1, free, "free.test"}}},
		{"what was no tunnel", []say{{0, "GET / HTTP/1.1\r\nHost: free.test\r\nUpgrade: x\r\n\r\n", "free.test"}, {-1, "G", ""}, {-1, paid[1:], "paid.test"}}},
		{"a request whose second segment comes first", []say{{0, free, "free.test"}, {len(free) + 30, paid[30:], ""}, {len(free), paid[:30], "paid.test"}}},
		{"a ClientHello whose second segment comes first", []say{{100, client[100:], ""}, {0, client[:100], "free.test"}}},
		{"one whose third comes second", []say{{0, client[:50], ""}, {100, client[100:], ""}, {50, client[50:100], "free.test"}}},
		{"a ClientHello octet for octet, in part", []say{{0, client[:1], ""}, {1, client[1:2], ""}, {2, client[2:], "free.test"}}},
		{"a request octet for octet, in part", []say{{0, "G", ""}, {1, "E", ""}, {2, free[2:], "free.test"}}},
		{"9000 octets beyond a gap", []say{{10, strings.Repeat("a", 9000), ""}, {0, free[:10], ""}, {10, free[10:], ""}}},
		{"9000 octets of a body beyond a gap", []say{{len(load) + 5, strings.Repeat("a", 9000), ""}, {0, load, "paid.test"}, {len(load) + 20000, free, "free.test"}}},
		{"20 segments beyond a gap", slices.Concat(ahead, []say{{0, free, ""}, {-1, free, ""}})},
		{"a field of 6000 octets in pieces", []say{{0, "GET / HTTP/1.1\r\nCookie: ", ""}, {-1, strings.Repeat("a", 3000), ""}, {-1, strings.Repeat("b", 3000), ""}, {-1, "\r\nHost: free.test\r\n\r\n", "free.test"}}},
		{"a gap that is not filled", []say{{0, free, "free.test"}, {maxGap + 1000, paid, ""}, {len(free), free, ""}}},
	} {
		n := NewNames(newLearned())
		n.say(1, 1, 999, tcpSYN, "", 0)
		next := 0
		for i, s := range tc.said {
			if s.at >= 0 {
				next = s.at
			}
			name, known := n.say(1, 1, uint32(1000+next), tcpACK, s.data, 0)
			if next += len(s.data); known != (s.want != "") || name.host != s.want {
				t.Errorf("%s, segment %d: got %q, %t; want %q", tc.name, i+1, name.host, known, s.want)
			}
		}
	}
}
