package find

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// socketKind is what a socket is for.
type socketKind uint8

const (
	gtpuSocket socketKind = iota
	pfcpSocket
	packetSocket // of AF_PACKET, for all protocols, at one device
)

// socket is one that a UPF may have.
type socket struct {
	kind   socketKind
	local  netip.Addr // of UDP; unspecified: any
	device int        // of AF_PACKET: interface index
	space  uint64     // inode of the network namespace
}

// readSockets returns the sockets of a network namespace that mean something, by inode.
// directory is one of its in /proc: /proc/PID/net.
func readSockets(directory string, space uint64) (map[uint64]socket, error) {
	found := map[uint64]socket{}
	for _, table := range []struct {
		name  string
		parse func(line string) (uint64, socket, error)
	}{{"udp", parseUDP}, {"udp6", parseUDP}, {"packet", parsePacket}} {
		path := filepath.Join(directory, table.name)
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // no IPv6, no AF_PACKET
		}
		if err != nil {
			return nil, err
		}
		if err := parseTable(string(text), table.parse, func(inode uint64, s socket) {
			s.space = space
			found[inode] = s
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return found, nil
}

// socketInode returns the inode of the socket that a file is, by where its link in
// /proc/PID/fd leads; 0: it is none.
func socketInode(target string) uint64 {
	text, ok := strings.CutPrefix(target, "socket:[")
	if !ok {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
	return n
}

// errOther is that of a socket that means nothing here.
var errOther = errors.New("another socket")

// parseTable reads the lines after the first.
func parseTable(text string, parse func(string) (uint64, socket, error), found func(uint64, socket)) error {
	_, rest, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(rest) {
		inode, s, err := parse(line)
		if errors.Is(err, errOther) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%.120q: %w", line, err)
		}
		found(inode, s)
	}
	return nil
}

// parseUDP reads a line of /proc/net/udp or udp6. Addresses are there as the kernel has
// them in memory, in words of 32 bits, and ports in host order. Source: proc(5).
func parseUDP(line string) (uint64, socket, error) {
	const local, inode = 1, 9
	fields := strings.Fields(line)
	if len(fields) <= inode {
		return 0, socket{}, fmt.Errorf("%d fields: want %d", len(fields), inode+1)
	}
	address, port, _ := strings.Cut(fields[local], ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return 0, socket{}, fmt.Errorf("port: %w", err)
	}
	s := socket{}
	switch n {
	case gtpu.Port:
		s.kind = gtpuSocket
	case pfcp.Port:
		s.kind = pfcpSocket
	default:
		return 0, socket{}, errOther
	}
	if s.local, err = parseAddress(address); err != nil {
		return 0, socket{}, err
	}
	number, err := strconv.ParseUint(fields[inode], 10, 64)
	return number, s, err
}

// parseAddress reads an address of 4 or 16 octets as /proc/net writes it.
func parseAddress(text string) (netip.Addr, error) {
	octets, err := hex.DecodeString(text)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address: %w", err)
	}
	if len(octets) != 4 && len(octets) != 16 {
		return netip.Addr{}, fmt.Errorf("address of %d octets: want 4 or 16", len(octets))
	}
	for i := 0; i < len(octets); i += 4 {
		binary.NativeEndian.PutUint32(octets[i:], binary.BigEndian.Uint32(octets[i:]))
	}
	address, _ := netip.AddrFromSlice(octets)
	return address.Unmap(), nil
}

// parsePacket reads a line of /proc/net/packet: only sockets for all protocols of one
// device are of interest. Source: Linux net/packet/af_packet.c, packet_seq_show.
func parsePacket(line string) (uint64, socket, error) {
	const protocol, device, inode = 3, 4, 8
	fields := strings.Fields(line)
	if len(fields) <= inode {
		return 0, socket{}, fmt.Errorf("%d fields: want %d", len(fields), inode+1)
	}
	p, err := strconv.ParseUint(fields[protocol], 16, 16)
	if err != nil {
		return 0, socket{}, fmt.Errorf("protocol: %w", err)
	}
	index, err := strconv.ParseInt(fields[device], 10, 32)
	if err != nil {
		return 0, socket{}, fmt.Errorf("device: %w", err)
	}
	if p != unix.ETH_P_ALL || index <= 0 {
		return 0, socket{}, errOther
	}
	number, err := strconv.ParseUint(fields[inode], 10, 64)
	return number, socket{kind: packetSocket, device: int(index)}, err
}
