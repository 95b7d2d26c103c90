package redisconn

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestReplies: the lengths of replies are known wherever they are cut.
func TestReplies(t *testing.T) {
	long := fmt.Sprintf("$%d\r\n", MaxReply+1)
	for _, tc := range []struct {
		name, in string
		inside   int64 // elements that are still to come
		long     bool
	}{
		{"simple", "+OK\r\n", 0, false},
		{"error", "-ERR " + strings.Repeat("x", 1000) + "\r\n", 0, false},
		{"value", "$5\r\n$9\r\nx\r\n", 0, false},
		{"no value", "$-1\r\n*-1\r\n_\r\n", 0, false},
		{"empty", "$0\r\n\r\n*0\r\n", 0, false},
		{"nested", "*2\r\n*2\r\n:1\r\n$1\r\nx\r\n%1\r\n+a\r\n", 1, false},
		{"attributes", "|1\r\n+a\r\n+b\r\n:1\r\n", 0, false},
		{"value too long", long, 0, true},
		{"value of more than a number", "$99999999999999999999999999\r\n", 0, true},
		{"longest line", "+" + strings.Repeat("x", lineLimit-3) + "\r\n", 0, false},
		{"line too long", "-" + strings.Repeat("x", lineLimit-2) + "\r\n", 0, true},
		{"line without an end", "*1\r\n:" + strings.Repeat("1", 1<<20), 0, true},
		{"too many long lines", "*2000\r\n" + strings.Repeat("+"+strings.Repeat("x", lineLimit-3)+"\r\n", 1100), 0, true},
		{"nested too deep", strings.Repeat("*1\r\n", 1<<20), 0, true},
		{"attributes without end", strings.Repeat("|0\r\n", 1<<20), 0, true},
		{"too many elements", "*1000000000\r\n", 0, true},
		{"too much together", "*9\r\n" + strings.Repeat(fmt.Sprintf("$%d\r\n%s\r\n", MaxValue, strings.Repeat("$", MaxValue)), 4), 0, true},
		{"each for itself", strings.Repeat(fmt.Sprintf("$%d\r\n%s\r\n", MaxValue, strings.Repeat("$", MaxValue)), 5), 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r replies
			err := r.scan([]byte(tc.in))
			if errors.Is(err, ErrTooLong) != tc.long || !tc.long && (err != nil || r.inside != tc.inside) {
				t.Errorf("%v, %d elements to come; want too long %v, %d", err, r.inside, tc.long, tc.inside)
			}
		})
	}
}

// FuzzReplies: it does not matter how a stream is cut.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{"+OK\r\n", "*2\r\n$1\r\nx\r\n:1\r\n", "%1\r\n+a\r\n|1\r\n+a\r\n+b\r\n$-1\r\n", "\n\n$\r\n*\r\n$67108865\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var whole, parts replies
		err := whole.scan(b)
		for _, c := range b {
			if e := parts.scan([]byte{c}); e != nil {
				break
			}
		}
		whole.line, parts.line = append([]byte{}, whole.line...), append([]byte{}, parts.line...)
		if !reflect.DeepEqual(whole, parts) {
			t.Errorf("%+v in one, %+v in parts; %v", whole, parts, err)
		}
	})
}

// TestTooLong: of a value of 100 MB nothing is read, and there is room for none of it; the
// client goes on.
func TestTooLong(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for commands := bufio.NewScanner(c); commands.Scan(); {
					answer := ""
					switch commands.Text() {
					case "hello", "client":
						answer = "-ERR unknown command\r\n"
					case "ping":
						answer = "+PONG\r\n"
					case "get":
						answer = "$100000000\r\nxxxxx"
					}
					if _, err := c.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	c, err := Open(Config{Address: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := c.Get(t.Context(), "key").Err(); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v, want %v", err, ErrTooLong)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("%d octets were allocated", n)
	}
}
