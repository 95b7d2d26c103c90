package find

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addresses compares addresses by value.
var addresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// allowed lets cmp look into the package's types.
var allowed = cmp.AllowUnexported(socket{}, spot{}, mount{}, Target{})

// Tables as a little-endian kernel writes them.
const (
	udpTable = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  271: 0100030A:0868 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 40871 2 00000000b1d4c7ff 0
  412: 00000000:2265 00000000:0000 07 00000000:00000000 00:00000000 00000000   997        0 40872 2 00000000e2f0c2aa 0
  500: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 40873 2 00000000e2f0c2ab 0
`
	udp6Table = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  271: 000006FD000000000000000001000000:0868 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 40880 2 00000000b1d4c7ff 0
  412: 0000000000000000FFFF00000100030A:2265 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 40881 2 00000000b1d4c7ff 0
  413: 00000000000000000000000000000000:2265 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 40882 2 00000000b1d4c7ff 0
`
	packetTable = `sk               RefCnt Type Proto  Iface R Rmem   User   Inode
00000000d1a1c1c1 3      3    0003   7     1 0      0      51000
00000000d1a1c1c2 3      3    88cc   7     1 0      0      51001
00000000d1a1c1c3 3      3    0003   0     1 0      0      51002
`
)

func TestParseTable(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		parse      func(string) (uint64, socket, error)
		want       map[uint64]socket
	}{
		{"udp", udpTable, parseUDP, map[uint64]socket{
			40871: {kind: gtpuSocket, local: netip.MustParseAddr("10.3.0.1")},
			40872: {kind: pfcpSocket, local: netip.IPv4Unspecified()},
		}},
		{"udp6", udp6Table, parseUDP, map[uint64]socket{
			40880: {kind: gtpuSocket, local: netip.MustParseAddr("fd06::1")},
			40881: {kind: pfcpSocket, local: netip.MustParseAddr("10.3.0.1")},
			40882: {kind: pfcpSocket, local: netip.IPv6Unspecified()},
		}},
		{"packet", packetTable, parsePacket, map[uint64]socket{51000: {kind: packetSocket, device: 7}}},
		{"empty", "", parseUDP, map[uint64]socket{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := map[uint64]socket{}
			err := parseTable(tc.text, tc.parse, func(inode uint64, s socket) { got[inode] = s })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, addresses, allowed); diff != "" {
				t.Errorf("sockets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTableRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, line, want string
		parse            func(string) (uint64, socket, error)
	}{
		{"few fields", "1: 0100030A:0868 0:0 07", "4 fields", parseUDP},
		{"odd address", " 1: 0100030:0868 0:0 07 0:0 0:0 0 0 0 1", "address", parseUDP},
		{"address of 3 octets", " 1: 010003:0868 0:0 07 0:0 0:0 0 0 0 1", "address of 3 octets", parseUDP},
		{"port", " 1: 0100030A:10868 0:0 07 0:0 0:0 0 0 0 1", "port", parseUDP},
		{"inode", " 1: 0100030A:0868 0:0 07 0:0 0:0 0 0 0 x", "invalid syntax", parseUDP},
		{"packet of few fields", "0 3 3 0003 7", "5 fields", parsePacket},
		{"packet device", "0 3 3 0003 x 1 0 0 5", "device", parsePacket},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := parseTable("title\n"+tc.line+"\n", tc.parse, func(uint64, socket) { t.Error("a socket was found") })
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// FuzzParseTable wants every socket that is found to be one of those that are looked for,
// and found again in its own line.
func FuzzParseTable(f *testing.F) {
	f.Add(udpTable)
	f.Add(udp6Table)
	f.Add(packetTable)
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (uint64, socket, error){parseUDP, parsePacket} {
			_ = parseTable(text, parse, func(_ uint64, s socket) {
				if s.kind == packetSocket {
					if s.device <= 0 {
						t.Errorf("device %d", s.device)
					}
				} else if !s.local.IsValid() {
					t.Errorf("%+v: no address", s)
				}
			})
		}
	})
}
