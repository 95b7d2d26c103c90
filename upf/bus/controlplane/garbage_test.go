package controlplane

import (
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// TestGarbage: whatever somebody has put into Redis, sessions stay as they are, an agent
// that starts anew holds all of them, changes go through soon, and a control plane starts.
func TestGarbage(t *testing.T) {
	const prefix = "plumbline:{one}:"
	garbled, err := wire.Marshal(&api.Desired{Version: 1, Session: []byte("\xff\xff")})
	if err != nil {
		t.Fatal(err)
	}
	field := wire.SEIDField(1)
	const long = "redis.call('SETRANGE', 'x', 17000000, 'x') local v = redis.call('GET', 'x') redis.call('DEL', 'x') "
	for _, tc := range []struct {
		name string
		do   []any
	}{
		{"a value that cannot be decoded", []any{"HSET", prefix + "desired", field, "\xff\xff\xff"}},
		{"a session that cannot be decoded", []any{"HSET", prefix + "desired", field, garbled}},
		{"a value without a session", []any{"HSET", prefix + "desired", field, ""}},
		{"a value of a session that nobody knows", []any{"HSET", prefix + "desired", wire.SEIDField(99), "\xff"}},
		{"a field that is no SEID", []any{"HSET", prefix + "desired", "x", "y"}},
		{"desired of another type", []any{"SET", prefix + "desired", "x"}},
		{"changes of another type", []any{"SET", prefix + "changes", "x"}},
		{"replies of another type", []any{"SET", prefix + "replies", "x"}},
		{"events of another type", []any{"SET", prefix + "events", "x"}},
		{"head of another type", []any{"SET", prefix + "head", "x"}},
		{"owner of another type", []any{"EVAL", "redis.call('DEL', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'x')", 1, prefix + "owner"}},
		{"acknowledged of another type", []any{"EVAL", "redis.call('DEL', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'x')", 1, prefix + "acknowledged"}},
		{"an epoch that is none", []any{"HSET", prefix + "head", "epoch", "ffffffffffffffff"}},
		{"the highest epoch", []any{"HSET", prefix + "head", "epoch", "18446744073709551615"}},
		{"the highest version", []any{"HSET", prefix + "head", "version", "18446744073709551615"}},
		{"an entry of changes of more than any has", []any{"EVAL", long + "redis.call('XADD', KEYS[1], '*', 'b', v..v..v..v)", 1, prefix + "changes"}},
		{"an entry of events of more than any has", []any{"EVAL", long + "redis.call('XADD', KEYS[1], '*', 'b', v..v..v..v)", 1, prefix + "events"}},
		{"a session of more than any has", []any{"EVAL", long + "redis.call('HSET', KEYS[1], ARGV[1], v)", 1, prefix + "desired", field}},
		{"a field of more than any has", []any{"EVAL", long + "redis.call('HSET', KEYS[1], v, 'x')", 1, prefix + "desired"}},
		{"an owner that is none", []any{"SET", prefix + "owner", "x"}},
		{"a sign of life that is none", []any{"SET", prefix + "alive", "\xff"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBed(t)
			want := map[uint64]uint32{1: 1, 2: 1}
			apply := func(version uint32) {
				t.Helper()
				for seid := range want {
					want[seid] = version
					b.wait("a change goes through", func() bool { return b.apply(seid, version) == nil })
				}
				b.waitHolds(want)
			}
			spoil := func() {
				t.Helper()
				var late net.Error // on a slow machine; it is done all the same
				err := b.redis.Client.Do(t.Context(), tc.do...).Err()
				if err != nil && !errors.Is(err, redis.Nil) && !(errors.As(err, &late) && late.Timeout()) {
					t.Fatal(err)
				}
			}
			apply(1)
			spoil()
			apply(2)

			b.stopAgent()
			spoil()
			b.driver = newMemory()
			b.startAgent()
			b.waitHolds(want)
			apply(3)

			spoil()
			b.startUpper()
			for seid, version := range want {
				if err := b.apply(seid, version); err != nil {
					t.Error(err)
				}
			}
			b.settle()
			b.waitUp()
			b.waitHolds(want)
			apply(4)
			b.upper.Close()
			b.startUpper() // nobody but us writes, whatever the epoch was
			b.settle()
			b.waitHolds(map[uint64]uint32{})
		})
	}
}
