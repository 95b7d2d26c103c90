package pfcp

import (
	"bytes"
	"fmt"
)

// Name is the content of a Network Instance or APN/DNN, or an FQDN, as it is on the
// wire: either a sequence of labels, each behind its length, or plain text. Peers
// use both forms for Network Instances, even mixed, so compare the results of
// String. A 0 octet after the labels is the DNS root, and is ignored.
//
// Source: TS 29.244 V18.6.0, 8.2.4, 8.2.38 and 8.2.117; TS 23.003, 9.1.
type Name []byte

// NewName returns text, which may have dots, as a sequence of labels. Labels
// of more than 63 octets cannot be encoded; the text is then kept as it is.
func NewName(text string) Name {
	name := make(Name, 0, len(text)+1)
	for label := range bytes.SplitSeq([]byte(text), []byte{'.'}) {
		if len(label) == 0 || len(label) > maxLabel {
			return Name(text)
		}
		name = append(append(name, byte(len(label))), label...)
	}
	return name
}

// maxLabel is the greatest length of a label. Source: RFC 1035, 2.3.4.
const maxLabel = 63

// String returns the labels with dots between them, or the text if the octets
// are not a sequence of labels.
func (n Name) String() string {
	var room [100]byte // an APN's greatest length: TS 23.003, 9.1
	return string(n.AppendText(room[:0]))
}

// AppendText appends what String returns.
func (n Name) AppendText(b []byte) []byte {
	start := len(b)
	for rest := n; len(rest) > 0; {
		size := int(rest[0])
		if size == 0 && len(rest) == 1 && len(b) > start {
			break
		}
		if size == 0 || size > maxLabel || size >= len(rest) {
			return append(b[:start], n...)
		}
		if len(b) > start {
			b = append(b, '.')
		}
		b = append(b, rest[1:1+size]...)
		rest = rest[1+size:]
	}
	return b
}

// maxFQDN is the greatest length of a domain name with the octets of its labels' lengths.
// Source: RFC 1035, 2.3.4.
const maxFQDN = 255

// checkFQDN rejects invalid domain names: too long, labels with lengths beyond the end or
// compression pointers (RFC 1035, 4.1.4), octets that are no text. Plain text with dots, as sent by
// some peers, is accepted.
// Source: TS 29.244 V18.6.0, 8.2.38; TS 23.003, 19.4.2.1; RFC 1035, 3.1.
func (n Name) checkFQDN() error {
	if len(n) == 0 || len(n) > maxFQDN {
		return fmt.Errorf("FQDN of %d octets: %w", len(n), ErrLength)
	}
	var room [maxFQDN]byte
	for _, c := range n.AppendText(room[:0]) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("FQDN %q: %w", []byte(n), ErrIncorrect)
		}
	}
	return nil
}
