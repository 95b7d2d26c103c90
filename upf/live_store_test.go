package upf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
)

// TestCheckKept: what cannot be kept is reported, and nothing is left behind.
func TestCheckKept(t *testing.T) {
	dir, server := t.TempDir(), redistest.Start(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string // the beginning of each line; empty: nothing is wrong
	}{
		{"nothing kept", func(*Config) {}, ""},
		{"a directory", func(c *Config) { c.Store.Path = dir }, ""},
		{"a directory to come", func(c *Config) { c.Store.Path = filepath.Join(dir, "a", "b") }, ""},
		{"where none can be", func(c *Config) { c.Store.Path = "/proc/nope" }, "store.path: /proc/nope: no such file or directory"},
		{"a file", func(c *Config) { c.Store.Path = file }, "store.path: " + file + ": not a directory"},
		{"below a file", func(c *Config) { c.Store.Path = file + "/x" }, "store.path: " + file + "/x: not a directory"},
		{"a Redis that answers", func(c *Config) { c.Store.Redis.Address = server.Address }, ""},
		{"no Redis", func(c *Config) { c.Store.Redis.Address = "127.0.0.1:1" }, "store.redis.address: 127.0.0.1:1: dial tcp"},
		{"no Redis for the bus", func(c *Config) { c.Bus.Redis.Address = "/nope" }, "bus.redis.address: /nope: dial unix"},
		{"pins on a disk", func(c *Config) { c.XDP.Pin = filepath.Join(dir, "pins") }, "xdp.pin: directory of pins " + filepath.Join(dir, "pins") + " is not in a bpffs"},
		{"two", func(c *Config) { c.Store.Path, c.Bus.Redis.Address = "/proc/nope", "/nope" }, "store.path: /proc/nope: no such\nbus.redis.address: /nope"},
	} {
		c := Default()
		c.XDP.Pin = ""
		tc.change(c)
		var got []string
		if err := c.CheckKept(t.Context()); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		want := strings.FieldsFunc(tc.want, func(r rune) bool { return r == '\n' })
		ok := len(got) == len(want)
		for i := range want {
			ok = ok && strings.HasPrefix(got[i], want[i])
		}
		if !ok {
			t.Errorf("%s: got %q, want %q", tc.name, got, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v; want the file alone", entries, err)
	}
}
