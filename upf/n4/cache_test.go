package n4

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func TestResponseCache(t *testing.T) {
	c := newResponseCache(1 << 20)
	a, b := netip.MustParseAddrPort("10.4.0.2:8805"), netip.MustParseAddrPort("10.4.0.3:8805")
	now := recoveryTime
	find := func(src netip.AddrPort, request string) string {
		got, ok := c.find([]byte("before "), c.key(src, []byte(request)), now)
		if !ok && string(got) != "before " {
			t.Errorf("%q appended, though nothing was found", got)
		}
		return string(bytes.TrimPrefix(got, []byte("before ")))
	}
	put := func(src netip.AddrPort, request, response string) {
		c.put(c.key(src, []byte(request)), []byte(response), now)
	}

	put(a, "one", "1")
	put(a, "two", "2")
	for _, tc := range []struct {
		src           netip.AddrPort
		request, want string
	}{
		{a, "one", "1"}, {a, "two", "2"}, {a, "three", ""},
		{b, "one", ""}, {netip.AddrPortFrom(a.Addr(), 8806), "one", ""},
	} {
		if got := find(tc.src, tc.request); got != tc.want {
			t.Errorf("%v %s: %q, want %q", tc.src, tc.request, got, tc.want)
		}
	}
	now = now.Add(holdTime + time.Second)
	put(b, "three", "3") // the first ones are of the old generation now
	if got := find(a, "one") + find(b, "three"); got != "13" {
		t.Errorf("after %v: %q, want both", holdTime, got)
	}
	now = now.Add(holdTime + time.Second)
	put(b, "four", "4")
	if got := find(a, "one") + find(b, "three") + find(b, "four"); got != "34" {
		t.Errorf("after twice %v: %q, want the last two", holdTime, got)
	}
	c.forget(b.Addr())
	if got := find(b, "four"); got != "" {
		t.Errorf("%q after its association ended, want nothing", got)
	}
}

// TestResponseCacheBound: the cache takes no more memory than it may, and keeps
// the newest.
func TestResponseCacheBound(t *testing.T) {
	c := newResponseCache(64 << 10)
	src := netip.MustParseAddrPort("10.4.0.2:8805")
	response := make([]byte, 100)
	for i := range 10_000 {
		c.put(c.key(src, []byte(fmt.Sprint(i))), response, recoveryTime)
		used := 0
		for j := range c.shards {
			for _, g := range []*generation{&c.shards[j].young, &c.shards[j].old} {
				used += len(g.octets) + len(g.where)*lenEntry
			}
		}
		if used > 64<<10+2*cacheShards*lenEntry {
			t.Fatalf("%d octets after %d responses", used, i+1)
		}
	}
	for _, tc := range []struct {
		n    int
		want bool
	}{{9999, true}, {9900, true}, {100, false}} {
		if _, got := c.find(nil, c.key(src, []byte(fmt.Sprint(tc.n))), recoveryTime); got != tc.want {
			t.Errorf("response %d found: %v, want %v", tc.n, got, tc.want)
		}
	}
}
