package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

const (
	// MaxValue is the most octets that a value of ours has.
	MaxValue = 16 << 20
	// MaxReply is the most octets that the values and lines of one reply have.
	MaxReply = 4 * MaxValue
)

// ErrTooLong is that a reply has more than [MaxReply] octets. Nothing of it is read: the
// library would make room for all that is announced.
var ErrTooLong = errors.New("reply too long")

// NotOurs reports whether err is that a key holds something else than ours does: of
// another type, or too long. A server before version 7 has the word in the middle where
// a script met it.
func NotOurs(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "WRONGTYPE") || errors.Is(err, ErrTooLong))
}

// boundReplies has the connections of a client refuse replies that are too long.
func boundReplies(o *redis.Options) {
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		b := &bounded{Conn: c}
		if s, ok := c.(syscall.Conn); ok {
			return &boundedSocket{bounded: b, Conn: s}, nil
		}
		return b, nil
	}
}

// boundedSocket is a connection without TLS. The library asks its socket whether the
// server has closed it.
type boundedSocket struct {
	*bounded
	syscall.Conn
}

// bounded is a connection that reads along how long replies are.
type bounded struct {
	net.Conn
	replies replies
}

// Read implements [net.Conn]. Errors: [ErrTooLong], after which the connection is of no use.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if long := b.replies.scan(p[:n]); long != nil {
		return 0, long
	}
	return n, err
}

// replies is where in the replies of a server we are. Each element is a line; that of a
// value has its length, an aggregate's the number of its elements.
//
// Source: Redis serialization protocol specification, RESP2 and RESP3.
type replies struct {
	value  int64  // octets left of a value and the end of its line
	line   []byte // of this line so far; the beginning of a long one
	length int64  // of this line so far, in octets
	inside int64  // elements left of this reply
	octets int64  // of this reply
	failed error
}

const (
	// lineMax is how much of a line says what follows: a letter and a number.
	lineMax = 24
	// lineLimit is the most octets of a line. The longest are errors, of which those of
	// scripts have some hundred.
	lineLimit = 64 << 10
	// elementCost is what an element takes beside its octets.
	elementCost = 16
	// nestedCost is what an aggregate takes beside its elements: the library calls itself
	// for each.
	nestedCost = 512
)

func (r *replies) scan(p []byte) error {
	for len(p) > 0 && r.failed == nil {
		if r.value > 0 {
			n := min(r.value, int64(len(p)))
			r.value, p = r.value-n, p[n:]
			if r.value == 0 {
				r.ended(0)
			}
			continue
		}
		c := p[0]
		p = p[1:]
		if r.length++; r.length > lineLimit {
			r.failed = fmt.Errorf("%w: a line of more than %d octets", ErrTooLong, lineLimit)
			break
		}
		switch {
		case c == '\n':
			r.element(r.line)
			r.line, r.length = r.line[:0], 0
		case len(r.line) < lineMax:
			r.line = append(r.line, c)
		}
	}
	return r.failed
}

// element takes the line of an element.
func (r *replies) element(line []byte) {
	if len(line) < 2 {
		r.ended(0)
		return
	}
	if r.inside == 0 {
		r.inside, r.octets = 1, 0
	}
	n, err := strconv.ParseInt(string(line[1:len(line)-1]), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		n = 0
	}
	none := n < 0
	n = min(max(n, 0), 1<<40)
	switch line[0] {
	case '$', '=', '!': // a value
		r.octets += elementCost + n
		if none {
			r.ended(0)
		} else {
			r.value = n + 2
		}
	case '*', '~', '>':
		r.octets += nestedCost + elementCost*n
		r.ended(n)
	case '%':
		r.octets += nestedCost + 2*elementCost*n
		r.ended(2 * n)
	case '|': // attributes come before what they are of
		r.octets += nestedCost + 2*elementCost*n
		r.inside += 2 * n
	default:
		r.octets += elementCost + r.length
		r.ended(0)
	}
	if r.octets > MaxReply {
		r.failed = fmt.Errorf("%w: more than %d octets", ErrTooLong, int64(MaxReply))
	}
}

// ended notes that an element has ended, unless others are in it.
func (r *replies) ended(others int64) { r.inside = max(0, r.inside-1+others) }
