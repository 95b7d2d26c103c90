package stages

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

const (
	quicVersion1 = 0x00000001
	quicVersion2 = 0x6b3343cf

	quicLong       = 0x80 // header form; the fixed bit need not be set: RFC 9287
	quicVersionEnd = 5    // octets up to the end of the version
	quicTypeShift  = 4
	quicInitial    = 0
	quicRetry      = 3
	quicMaxCID     = 20
	quicKey        = 16
	quicTag        = 16
	quicSample     = 16
	quicMaxNumber  = 4
	quicMinInitial = 1200 // octets of a client's datagram with one: servers drop shorter ones

	quicPadding = 0x00
	quicPing    = 0x01
	quicACK     = 0x02
	quicACKECN  = 0x03
	quicCrypto  = 0x06
	quicClose   = 0x1c

	maxInitials = 16 // packets of a connection that are opened for its name
	maxFrames   = 64 // frames of one of them that are read
)

// quicHello reads the ClientHello of a QUIC connection out of its client's Initial
// packets. Their keys follow from what the first one carries in clear, so that whoever
// sees it can read it. The ClientHello may be in CRYPTO frames in any order, in one
// packet or in several, which may overtake each other.
//
// Source: RFC 9000, 17.2.2, 19.6; RFC 9001, 5.2; RFC 9369.
type quicHello struct {
	ids      []string // Destination Connection IDs that keys of packets followed from
	version  uint32   // of what is read now
	id       string   // the same
	keys     *quicKeys
	initials int
	data     []byte // of the CRYPTO stream
	have     []bool // which octets of data have come
	whole    bool   // data has said the name
	mark     uint64 // of the datagram that was read last

	name  flowName // what ClientHellos have said
	named bool     // they have
}

// quicKeys protects a client's Initial packets.
type quicKeys struct {
	packet cipher.AEAD
	header cipher.Block
	iv     []byte
}

// quicPacket is where things are in a packet with a long header.
type quicPacket struct {
	initial bool
	version uint32
	to      []byte // Destination Connection ID
	number  int    // where the packet number begins
	packet  []byte // up to its end
}

// isLong reports whether a datagram begins with a long header of a version that is
// read. What is behind one of another version no server reads, either.
func isLong(b []byte) bool {
	if len(b) < quicVersionEnd || b[0]&quicLong == 0 {
		return false
	}
	version := binary.BigEndian.Uint32(b[1:])
	return version == quicVersion1 || version == quicVersion2
}

// hasInitial reports whether one of the packets in a datagram is an Initial.
func hasInitial(datagram []byte) bool {
	for rest := datagram; ; {
		p, behind, ok := readLong(rest)
		if !ok || p.initial {
			return ok
		}
		rest = behind
	}
}

// readLong returns the packet with a long header at the start of b and what is behind
// it: another one may be. It reports false if there is none, or if it is a Retry packet.
//
// Source: RFC 9000, 12.2, 17.2; RFC 9369, 3.2.
func readLong(b []byte) (p quicPacket, rest []byte, ok bool) {
	if !isLong(b) {
		return p, nil, false
	}
	c := cutter{b: b}
	kind := c.number(1) >> quicTypeShift & 3
	if p.version = uint32(c.number(4)); p.version == quicVersion2 {
		kind = (kind + 3) & 3
	}
	size := c.number(1)
	p.to = c.take(size)
	from := c.number(1)
	c.take(from)
	if kind == quicRetry || size > quicMaxCID || from > quicMaxCID {
		return p, nil, false
	}
	if kind == quicInitial {
		c.take(c.varint()) // token
	}
	length := c.varint()
	p.number = len(b) - len(c.b)
	c.take(length)
	if c.short {
		return p, nil, false
	}
	p.packet = b[:p.number+length]
	p.initial = kind == quicInitial && length >= quicMaxNumber+quicSample
	return p, c.b, true
}

// varint takes a variable-length integer. Source: RFC 9000, 16.
func (c *cutter) varint() int {
	first := c.number(1)
	v := first & 0x3f
	for range 1<<(first>>6) - 1 {
		v = v<<8 | c.number(1)
	}
	return v
}

// newQUICKeys returns the client's keys. Source: RFC 9001, 5.2; RFC 9369, 3.3.
func newQUICKeys(version uint32, to string) (*quicKeys, error) {
	salt, prefix := "\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a", "quic "
	if version == quicVersion2 {
		salt, prefix = "\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9", "quicv2 "
	}
	k := &quicKeys{}
	secret, err := hkdf.Extract(sha256.New, []byte(to), []byte(salt))
	if err != nil {
		return nil, err
	}
	if secret, err = expandLabel(secret, "client in", sha256.Size); err != nil {
		return nil, err
	}
	var blocks [2]cipher.Block
	for i, label := range []string{"key", "hp"} {
		key, err := expandLabel(secret, prefix+label, quicKey)
		if err != nil {
			return nil, err
		}
		if blocks[i], err = aes.NewCipher(key); err != nil {
			return nil, err
		}
	}
	k.header = blocks[1]
	if k.packet, err = cipher.NewGCM(blocks[0]); err != nil {
		return nil, err
	}
	k.iv, err = expandLabel(secret, prefix+"iv", k.packet.NonceSize())
	return k, err
}

// expandLabel is HKDF-Expand-Label with no context. Source: RFC 8446, 7.1.
func expandLabel(secret []byte, label string, size int) ([]byte, error) {
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(append(info, byte(len("tls13 "+label))), "tls13 "+label...)
	return hkdf.Expand(sha256.New, secret, string(append(info, 0)), size)
}

// open returns what an Initial packet carries. It reports false if it is not protected
// by these keys.
func (k *quicKeys) open(p quicPacket) ([]byte, bool) {
	var mask [aes.BlockSize]byte
	k.header.Encrypt(mask[:], p.packet[p.number+quicMaxNumber:][:quicSample])
	first := p.packet[0] ^ mask[0]&0x0f
	size := int(first&3) + 1
	header := bytes.Clone(p.packet[:p.number+size])
	header[0] = first
	nonce := bytes.Clone(k.iv)
	for i := range size {
		header[p.number+i] ^= mask[1+i]
		nonce[len(nonce)-size+i] ^= header[p.number+i]
	}
	plain, err := k.packet.Open(nil, nonce, p.packet[len(header):], header)
	return plain, err == nil
}

// read reads a datagram. It reports false if the connection shows no name, or not the
// one that another one between the same ends has shown: that is final. What cannot be
// opened says nothing. Servers drop an Initial in a short datagram, or should: no
// client sends one.
func (q *quicHello) read(datagram []byte) bool {
	for rest := datagram; len(rest) > 0; {
		p, behind, ok := readLong(rest)
		if !ok {
			break
		}
		rest = behind
		if !p.initial {
			continue
		}
		if q.initials++; q.initials > maxInitials || len(datagram) < quicMinInitial {
			return false
		}
		plain, ok := q.open(p)
		if ok && !(q.frames(plain) && q.agrees()) {
			return false
		}
	}
	return true
}

// agrees reports whether what has come of the CRYPTO stream may go on to say the name
// that was said before, if there was one.
func (q *quicHello) agrees() bool {
	n := 0
	for n < len(q.have) && q.have[n] {
		n++
	}
	if n == 0 {
		return true
	}
	name, v := messageName(q.data[:n])
	if v == nameFound {
		if q.named && q.name != name {
			return false
		}
		q.name, q.named, q.whole = name, true, true
	}
	return v != nameNone
}

// unsettled reports whether a ClientHello has begun that has not said its name.
func (q *quicHello) unsettled() bool { return len(q.data) > 0 && !q.whole }

// forget forgets the CRYPTO stream.
func (q *quicHello) forget() { q.data, q.have, q.whole = nil, nil, false }

// open opens a packet by the keys of the connection, which stay when the server has
// chosen another Connection ID, or by those of a packet that is its first one: so is
// the one behind Retry, and that of another connection between the same ends. Keys
// that were used before are tried, too, so that nobody can hide what goes on with them.
func (q *quicHello) open(p quicPacket) ([]byte, bool) {
	ids := slices.Concat([]string{q.id, string(p.to)}, q.ids)
	if len(q.ids) == 0 {
		ids = ids[1:]
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		same := len(q.ids) > 0 && id == q.id && p.version == q.version
		keys := q.keys
		if !same || keys == nil {
			var err error
			if keys, err = newQUICKeys(p.version, id); err != nil {
				continue
			}
		}
		plain, ok := keys.open(p)
		if !ok {
			continue
		}
		if !same {
			q.forget()
		}
		q.version, q.id, q.keys = p.version, id, keys
		if !slices.Contains(q.ids, id) {
			q.ids = append(q.ids, id)
		}
		return plain, true
	}
	return nil, false
}

// frames reads the frames of an Initial packet. It reports false if a server closes the
// connection for one of them, or if there are too many. Source: RFC 9000, 12.4.
func (q *quicHello) frames(b []byte) bool {
	c := cutter{b: b}
	for n := 0; !c.short && len(c.b) > 0; {
		kind := c.varint()
		switch kind {
		case quicPadding, quicPing:
			continue
		case quicACK, quicACKECN:
			c.ack(kind == quicACKECN)
		case quicCrypto:
			at := c.varint()
			if data := c.take(c.varint()); !c.short && !q.put(at, data) {
				return false
			}
		case quicClose:
			return true
		default:
			return false
		}
		if n++; n > maxFrames {
			return false
		}
	}
	return !c.short
}

// ack steps over an ACK frame. Source: RFC 9000, 19.3.
func (c *cutter) ack(ecn bool) {
	c.varint() // largest
	c.varint() // delay
	ranges := c.varint()
	c.varint() // first range
	for i := 0; i < ranges && !c.short; i++ {
		c.varint()
		c.varint()
	}
	if ecn {
		c.varint()
		c.varint()
		c.varint()
	}
}

// put puts octets into the CRYPTO stream. It reports false if they are beyond what is
// kept, or others have come in their place.
func (q *quicHello) put(at int, data []byte) bool {
	end := at + len(data)
	if at > maxPartialSize || end > maxPartialSize {
		return false
	}
	if end > len(q.data) {
		q.data = append(q.data, make([]byte, end-len(q.data))...)
		q.have = append(q.have, make([]bool, end-len(q.have))...)
	}
	for i, o := range data {
		if q.have[at+i] && q.data[at+i] != o {
			return false
		}
		q.data[at+i], q.have[at+i] = o, true
	}
	return true
}
