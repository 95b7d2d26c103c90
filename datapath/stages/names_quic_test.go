package stages

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newAES(t testing.TB, key string) cipher.Block {
	t.Helper()
	b, err := aes.NewCipher(unhex(t, key))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sealer is keys and the version that they are of.
type sealer struct {
	*quicKeys
	version uint32
}

// says is read, and what is known then.
func (q *quicHello) says(datagram []byte) (flowName, nameVerdict) {
	switch {
	case !q.read(datagram):
		return flowName{}, nameNone
	case !q.named || q.unsettled():
		return flowName{}, nameMore
	}
	return q.name, nameFound
}

// seal protects frames as an Initial packet in a datagram of at least size octets.
func seal(t testing.TB, k *sealer, to []byte, number uint32, frames []byte, size int) []byte {
	t.Helper()
	first := byte(0xc3)
	if k.version == quicVersion2 {
		first = 0xd3
	}
	h := binary.BigEndian.AppendUint32([]byte{first}, k.version)
	h = append(append(h, byte(len(to))), to...)
	h = append(h, 0, 0) // Source Connection ID, token
	plain := append(frames, make([]byte, max(0, size-len(h)-2-4-quicTag-len(frames)))...)
	h = binary.BigEndian.AppendUint16(h, uint16(0x4000|4+len(plain)+quicTag))
	at := len(h)
	h = binary.BigEndian.AppendUint32(h, number)
	nonce := bytes.Clone(k.iv)
	for i := range 4 {
		nonce[8+i] ^= h[at+i]
	}
	out := append(bytes.Clone(h), k.packet.Seal(nil, nonce, plain, h)...)
	var mask [16]byte
	k.header.Encrypt(mask[:], out[at+4:at+20])
	out[0] ^= mask[0] & 0xf
	for i := range 4 {
		out[at+i] ^= mask[1+i]
	}
	return out
}

func newKeys(t testing.TB, version uint32, to []byte) *sealer {
	t.Helper()
	k, err := newQUICKeys(version, string(to))
	if err != nil {
		t.Fatal(err)
	}
	return &sealer{k, version}
}

// sample is the client's Connection ID and CRYPTO frame of RFC 9001, A.1 and A.2.
const (
	sampleID    = "8394c8f03e515708"
	sampleHello = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868" +
		"04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578" +
		"616d706c652e636f6dff01000100000a00080006001d00170018001000070005" +
		"04616c706e000500050100000000003300260024001d00209370b2c9caa47fba" +
		"baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400" +
		"0d0010000e0403050306030203080408050806002d00020101001c0002400100" +
		"3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000" +
		"75300901100f088394c8f03e51570806048000ffff"
)

// TestQUICVectors: the packet that RFC 9001, A.2, makes by its keys is read, and so is
// one by the keys of RFC 9369, A.1.
func TestQUICVectors(t *testing.T) {
	for _, tc := range []struct {
		name            string
		version         uint32
		key, iv, header string
		begin, end      string // of the packet, as far as known
	}{
		{"RFC 9001, A.2", quicVersion1, "1f369613dd76d5467730efcbe3b1a22d", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2",
			"c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11", "e221af44860018ab0856972e194cd934"},
		{"RFC 9369, A.1", quicVersion2, "8b1a0bc121284290a29e0971b5cd045d", "91f73e2351d8fa91660e909f", "45b95e15235d6f45a6b19cbcb0294ba9", "", ""},
	} {
		k := &sealer{&quicKeys{iv: unhex(t, tc.iv)}, tc.version}
		k.header = newAES(t, tc.header)
		var err error
		if k.packet, err = cipher.NewGCM(newAES(t, tc.key)); err != nil {
			t.Fatal(err)
		}
		packet := seal(t, k, unhex(t, sampleID), 2, unhex(t, sampleHello), 1200)
		if got := hex.EncodeToString(packet); !strings.HasPrefix(got, tc.begin) || !strings.HasSuffix(got, tc.end) || len(packet) != 1200 {
			t.Errorf("%s: made %s", tc.name, got)
		}
		q := &quicHello{}
		if name, v := q.says(packet); v != nameFound || name.host != "example.com" {
			t.Errorf("%s: got %+v, %d", tc.name, name, v)
		}
	}
}

// crypto is a CRYPTO frame with octets of message from at on.
func crypto(message []byte, at, size int) []byte {
	f := binary.BigEndian.AppendUint16([]byte{quicCrypto}, uint16(0x4000|at))
	return append(binary.BigEndian.AppendUint16(f, uint16(0x4000|size)), message[at:at+size]...)
}

// TestQUICHello: a ClientHello is read however its frames are cut and shuffled, and
// nothing else is.
func TestQUICHello(t *testing.T) {
	id := []byte("12345678")
	k := newKeys(t, quicVersion1, id)
	message := hello(t, &tls.Config{ServerName: "a.test", CurvePreferences: []tls.CurveID{tls.X25519}})[lenRecord:]
	other := bytes.Replace(message, []byte("a.test"), []byte("b.test"), 1)
	half := len(message) / 2
	one := seal(t, k, id, 0, crypto(message, 0, len(message)), 1200)
	first, second := seal(t, k, id, 0, crypto(message, 0, half), 1200), seal(t, k, []byte("server's"), 1, crypto(message, half, len(message)-half), 1200)
	acked := append([]byte{quicPing, quicACK, 5, 0, 1, 0, 1, 1}, crypto(message, 0, len(message))...)
	wrong := bytes.Clone(one)
	wrong[1199] ^= 1
	fixed := bytes.Clone(one) // and so with another tag: it cannot be opened, but it is an Initial
	fixed[0] &^= 0x40
	early := append(binary.BigEndian.AppendUint32([]byte{0xd0}, quicVersion1), 2, 'i', 'd', 0, 3, 1, 2, 3)
	retried := newKeys(t, quicVersion1, []byte("retry-id"))
	for _, tc := range []struct {
		name string
		in   [][]byte
		host string // "": none
		v    nameVerdict
	}{
		{"one frame", [][]byte{one}, "a.test", nameFound},
		{"behind other frames", [][]byte{seal(t, k, id, 0, acked, 1200)}, "a.test", nameFound},
		{"two packets", [][]byte{first, second}, "a.test", nameFound},
		{"the second one first", [][]byte{seal(t, k, id, 1, crypto(message, half, len(message)-half), 1200), first}, "a.test", nameFound},
		{"a wrong tag", [][]byte{wrong}, "", nameMore},
		{"a short datagram", [][]byte{seal(t, k, id, 0, crypto(message, 0, len(message)), 1100)}, "", nameNone},
		{"other octets in their place", [][]byte{first, seal(t, k, id, 1, crypto(other, 0, len(other)), 1200)}, "", nameNone},
		{"Retry", [][]byte{seal(t, k, id, 0, crypto(message, 0, 100), 1200), seal(t, retried, []byte("retry-id"), 0, crypto(other, 0, len(other)), 1200)}, "b.test", nameFound},
		{"Retry, and another name", [][]byte{one, seal(t, retried, []byte("retry-id"), 0, crypto(other, 0, len(other)), 1200)}, "", nameNone},
		{"Retry, and the same", [][]byte{one, seal(t, retried, []byte("retry-id"), 0, crypto(message, 0, len(message)), 1200)}, "a.test", nameFound},
		{"Retry, and the same in part", [][]byte{one, seal(t, retried, []byte("retry-id"), 0, crypto(message, 0, 100), 1200)}, "", nameMore},
		{"keys of before", [][]byte{one, seal(t, retried, []byte("retry-id"), 0, []byte{quicPing}, 1200), seal(t, k, []byte("server's"), 1, crypto(other, half, 100), 1200)}, "", nameMore},
		{"behind a packet with early data", [][]byte{append(early, one...)}, "a.test", nameFound},
		{"without the fixed bit", [][]byte{fixed}, "", nameMore},
		{"a frame that no Initial has", [][]byte{seal(t, k, id, 0, []byte{0x08, 0, 0}, 1200)}, "", nameNone},
		{"beyond what is kept", [][]byte{seal(t, k, id, 0, []byte{quicCrypto, 0x80, 0, 0xff, 0xff, 1, 1}, 1200)}, "", nameNone},
		{"no QUIC", [][]byte{bytes.Repeat([]byte{0x80}, 1300)}, "", nameMore},
	} {
		q := &quicHello{}
		var name flowName
		v := nameMore
		for _, b := range tc.in {
			name, v = q.says(b)
		}
		if v != tc.v || name.host != tc.host {
			t.Errorf("%s: got %q, %d; want %q, %d", tc.name, name.host, v, tc.host, tc.v)
		}
	}
	for seed := range uint64(50) {
		if err := shuffled(t, k, id, message, rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	q, v := &quicHello{}, nameMore
	for i := range maxInitials + 1 {
		_, v = q.says(seal(t, k, id, uint32(i), []byte{quicPing}, 1200))
	}
	if v != nameNone {
		t.Error("a connection that shows no name is waited for")
	}
}

// shuffled reads a ClientHello in small frames in any order, in three packets.
func shuffled(t *testing.T, k *sealer, id, message []byte, dice *rand.Rand) error {
	t.Helper()
	var frames [][]byte
	for at := 0; at < len(message); {
		size := min(1+dice.IntN(40), len(message)-at)
		frames = append(frames, crypto(message, at, size))
		at += size
	}
	dice.Shuffle(len(frames), func(i, j int) { frames[i], frames[j] = frames[j], frames[i] })
	q := &quicHello{}
	third := len(frames)/3 + 1
	for n := 0; len(frames) > 0; n++ {
		size := min(third, len(frames))
		name, v := q.says(seal(t, k, id, uint32(n), bytes.Join(frames[:size], []byte{quicPadding, quicPing}), 1200))
		frames = frames[size:]
		if v == nameFound && name.host == "a.test" {
			return nil
		}
		if v != nameMore || len(frames) == 0 {
			return fmt.Errorf("packet %d: got %q, %d", n, name.host, v)
		}
	}
	return nil
}

// FuzzQUICHello: whatever is in datagrams, and in the frames of one, a name that is read
// stands in a ClientHello there.
func FuzzQUICHello(f *testing.F) {
	id := []byte("12345678")
	k := newKeys(f, quicVersion1, id)
	message := hello(f, &tls.Config{ServerName: "a.test", CurvePreferences: []tls.CurveID{tls.X25519}})[lenRecord:]
	f.Add(crypto(message, 0, len(message)), []byte{})
	f.Add(append(crypto(message, 60, len(message)-60), crypto(message, 0, 60)...), []byte{})
	f.Add([]byte{quicACK, 5, 0, 1, 0, 1, 1, quicPing}, seal(f, k, id, 0, crypto(message, 0, len(message)), 1200))
	f.Fuzz(func(t *testing.T, frames, datagram []byte) {
		q := &quicHello{}
		q.says(datagram)
		if len(frames) > 1<<13 {
			return
		}
		q = &quicHello{}
		name, v := q.says(seal(t, k, id, 0, bytes.Clone(frames), 1200))
		if len(q.data) > maxPartialSize || len(q.have) != len(q.data) {
			t.Errorf("%d octets kept", len(q.data))
		}
		if v != nameFound {
			return
		}
		if !bytes.Contains(bytes.ToLower(q.data), []byte(name.host)) {
			t.Errorf("%q is not in %x", name.host, q.data)
		}
		for i, o := range q.data {
			if q.have[i] && bytes.IndexByte(frames, o) < 0 {
				t.Errorf("octet %d, %#x, was not in the frames", i, o)
			}
		}
	})
}
