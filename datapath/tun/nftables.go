package tun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nftables speaks to the kernel's packet filter of one network namespace, in the few words
// that a [fence] needs. A table that it has made as owner goes with its socket, which is why
// this is not github.com/google/nftables: that (v0.3.0) makes tables without flags.
//
// Source: linux/netfilter/nfnetlink.h, linux/netfilter/nf_tables.h.
type nftables struct {
	fd  int
	seq uint32
}

// Not in package unix.
const (
	tableOwner   = 0x2 // NFT_TABLE_F_OWNER, Linux 5.12
	metaSDIFName = 34  // NFT_META_SDIFNAME, Linux 5.6

	verdictDrop, verdictAccept = 0, 1 // NF_DROP, NF_ACCEPT
)

const (
	nftTimeout = 10 // seconds; the kernel may have to load a module
	lenNfgen   = 4  // octets of struct nfgenmsg
)

// openNftables opens a socket in the network namespace of the caller.
func openNftables() (*nftables, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = errors.Join(
		os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})),
		os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: nftTimeout})),
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)),
	)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &nftables{fd: fd}, nil
}

func (n *nftables) close() { _ = unix.Close(n.fd) }

// command is a message that changes something.
type command struct {
	kind       uint16 // NFT_MSG_NEWTABLE
	flags      uint16 // NLM_F_CREATE
	attributes []byte
}

// message appends a netlink message about nftables.
func (n *nftables) message(b []byte, kind, flags uint16, family byte, resource uint16, attributes []byte) []byte {
	n.seq++
	b = binary.NativeEndian.AppendUint32(b, uint32(unix.SizeofNlMsghdr+lenNfgen+len(attributes)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flags|unix.NLM_F_REQUEST)
	b = binary.NativeEndian.AppendUint32(b, n.seq)
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = append(b, family, unix.NFNETLINK_V0)
	b = binary.BigEndian.AppendUint16(b, resource)
	return append(b, attributes...)
}

func ofTables(kind uint16) uint16 { return unix.NFNL_SUBSYS_NFTABLES<<8 | kind }

// commit does all commands or none of them.
//
// Errors: of the kernel, that of the first command which it refuses.
func (n *nftables) commit(commands ...command) error {
	b := n.message(nil, unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil)
	begin := n.seq
	for _, c := range commands {
		b = n.message(b, ofTables(c.kind), c.flags|unix.NLM_F_ACK, unix.NFPROTO_INET, 0, c.attributes)
	}
	b = n.message(b, unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil)
	if err := unix.Sendto(n.fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	// Each command is answered; an answer to the beginning is about all of them.
	var first error
	for left := len(commands); left > 0; {
		answers, err := n.receive(begin)
		if err != nil {
			return errors.Join(first, err)
		}
		for _, m := range answers {
			if m.Header.Type != unix.NLMSG_ERROR {
				continue
			}
			if err := errorOf(m); err != nil && first == nil {
				first = err
			}
			if left--; m.Header.Seq == begin {
				return first
			}
		}
	}
	return first
}

// ask returns what the kernel answers to one question.
func (n *nftables) ask(kind uint16, attributes []byte) ([]byte, error) {
	b := n.message(nil, ofTables(kind), 0, unix.NFPROTO_INET, 0, attributes)
	if err := unix.Sendto(n.fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("sendto", err)
	}
	for {
		answers, err := n.receive(n.seq)
		if err != nil {
			return nil, err
		}
		for _, m := range answers {
			switch {
			case m.Header.Type == unix.NLMSG_ERROR:
				if err := errorOf(m); err != nil {
					return nil, err
				}
			case len(m.Data) >= lenNfgen:
				return m.Data[lenNfgen:], nil
			}
		}
	}
}

// receive returns messages from the one with the number since on; earlier ones are late answers to
// abandoned requests.
func (n *nftables) receive(since uint32) ([]syscall.NetlinkMessage, error) {
	b := make([]byte, 1<<16)
	for {
		size, _, err := unix.Recvfrom(n.fd, b, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		all, err := syscall.ParseNetlinkMessage(b[:size])
		if err != nil {
			return nil, fmt.Errorf("answer of nf_tables, %d octets: %w", size, err)
		}
		var fresh []syscall.NetlinkMessage
		for _, m := range all {
			if int32(m.Header.Seq-since) >= 0 {
				fresh = append(fresh, m)
			}
		}
		if len(fresh) > 0 {
			return fresh, nil
		}
	}
}

func errorOf(m syscall.NetlinkMessage) error {
	if len(m.Data) < 4 {
		return fmt.Errorf("answer of nf_tables, %d octets: %w", len(m.Data), unix.EBADMSG)
	}
	if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// attribute is a netlink attribute of several parts.
func attribute(kind uint16, parts ...[]byte) []byte {
	b := make([]byte, 4, 64)
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.NativeEndian.PutUint16(b, uint16(len(b)))
	binary.NativeEndian.PutUint16(b[2:], kind)
	for len(b)%unix.NLA_ALIGNTO != 0 {
		b = append(b, 0)
	}
	return b
}

func nested(kind uint16, parts ...[]byte) []byte { return attribute(kind|unix.NLA_F_NESTED, parts...) }

func number32(kind uint16, v uint32) []byte {
	return attribute(kind, binary.BigEndian.AppendUint32(nil, v))
}

func text(kind uint16, s string) []byte { return attribute(kind, append([]byte(s), 0)) }

// find returns the value of an attribute; nil: it is not there.
func find(attributes []byte, kind uint16) []byte {
	for len(attributes) >= 4 {
		size := int(binary.NativeEndian.Uint16(attributes))
		if size < 4 || size > len(attributes) {
			return nil
		}
		if binary.NativeEndian.Uint16(attributes[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return attributes[4:size]
		}
		attributes = attributes[min((size+3)&^3, len(attributes)):]
	}
	return nil
}
