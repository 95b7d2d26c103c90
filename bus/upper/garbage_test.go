package upper

import (
	"testing"

	"plumbline/api"
	"plumbline/bus/wire"
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
				if err := b.redis.Client.Do(t.Context(), tc.do...).Err(); err != nil {
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
