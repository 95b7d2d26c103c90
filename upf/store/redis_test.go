package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
)

func openRedis(t testing.TB, c redisconn.Config) *Redis {
	t.Helper()
	r, err := OpenRedis(t.Context(), RedisConfig{Server: c, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestRedisKeeps: what was saved and dropped is so after each of several
// restarts, of ours and of the server.
func TestRedisKeeps(t *testing.T) {
	server, want := redistest.Start(t), contents{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		r := openRedis(t, redisconn.Config{Address: server.Address})
		equal(t, load(t, r), want)
		for range 500 {
			randomOperation(random, r, want)
			if random.IntN(20) == 0 {
				flush(t, r)
			}
		}
		flush(t, r)
		server.Kill() // what was acknowledged is in its append-only file
		server.Run()
	}
	equal(t, load(t, openRedis(t, redisconn.Config{Address: server.Address})), want)
}

// TestRedisAway: a Flush that the server does not acknowledge fails when its
// context ends, and what it held is written by a later one, unless there is
// something newer.
func TestRedisAway(t *testing.T) {
	server := redistest.Start(t)
	r := openRedis(t, redisconn.Config{Address: server.Address})
	r.Save(Session, 1, []byte("one"))
	r.Save(Session, 2, []byte("two"))
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	// The socket has the deadline of the context, and may be the first to see it.
	if err := r.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("server stopped: %v, want %v", err, context.DeadlineExceeded)
	}
	start := time.Now()
	if err := r.Flush(t.Context()); err == nil || time.Since(start) > 2*flushTimeout {
		t.Errorf("server stopped: %v after %v, want an error within %v", err, time.Since(start), flushTimeout)
	}
	server.Kill()
	if err := r.Flush(t.Context()); err == nil {
		t.Error("server gone: Flush succeeded")
	}
	r.Save(Session, 2, []byte("newer"))
	r.Drop(Session, 3)
	server.Run()
	flush(t, r)
	equal(t, load(t, r), contents{{Session, 1}: "one", {Session, 2}: "newer"})
}

// TestRedisTogether: many goroutines save and flush; each finds its own there.
func TestRedisTogether(t *testing.T) {
	server := redistest.Start(t)
	r := openRedis(t, redisconn.Config{Address: server.Address})
	var done sync.WaitGroup
	for g := range 8 {
		done.Go(func() {
			for i := range 50 {
				id := uint64(g)<<32 | uint64(i)
				r.Save(Session, id, []byte{byte(g)})
				if err := r.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				field := string([]byte{0, 0, 0, byte(g), 0, 0, 0, byte(i)})
				if got := server.Client.HGet(t.Context(), "plumbline:store:s", field).Val(); got != string([]byte{byte(g)}) {
					t.Errorf("goroutine %d, record %d: %q in the server", g, i, got)
				}
			}
		})
	}
	done.Wait()
}

// TestRedisPassword: the password is that of the file, and another is refused.
func TestRedisPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "right")
	file := filepath.Join(t.TempDir(), "password")
	for _, tc := range []struct {
		password string
		ok       bool
	}{{"right\nsecond line", true}, {"wrong", false}} {
		if err := os.WriteFile(file, []byte(tc.password), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenRedis(t.Context(), RedisConfig{Server: redisconn.Config{Address: server.Address, PasswordFile: file}})
		if ok := err == nil; ok != tc.ok {
			t.Errorf("password %q: %v", tc.password, err)
		}
		if r != nil {
			r.Close()
		}
	}
}

// TestRedisKinds: records of every kind come back.
func TestRedisKinds(t *testing.T) {
	server, want := redistest.Start(t), contents{}
	r := openRedis(t, redisconn.Config{Address: server.Address})
	for _, kind := range []byte{Session, Association, PFD, Usage, Meta, Loss} {
		r.Save(kind, 7, []byte{kind})
		want[name{kind, 7}] = string(kind)
	}
	flush(t, r)
	equal(t, load(t, openRedis(t, redisconn.Config{Address: server.Address})), want)
}

// TestRedisForgets: what the server has lost, or has of before, is written again, as soon
// as something is saved or soon after if nothing is; whoever opens the store then finds
// all of it.
func TestRedisForgets(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(t *testing.T, s *redistest.Server)
	}{
		{"FLUSHALL", func(t *testing.T, s *redistest.Server) {
			if err := s.Client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a restart without its file", func(_ *testing.T, s *redistest.Server) {
			s.Kill()
			s.Forget()
			s.Run()
		}},
		{"older data", func(t *testing.T, s *redistest.Server) {
			old := s.Client.HGetAll(t.Context(), "plumbline:store:head").Val()
			if err := s.Client.HSet(t.Context(), "plumbline:store:head", "version", redisNumber(0)).Err(); err != nil || len(old) != 3 {
				t.Fatal(err, old)
			}
			if err := s.Client.HSet(t.Context(), "plumbline:store:s", "\x00\x00\x00\x00\x00\x00\x00\x09", "dropped since").Err(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a key of another type", func(t *testing.T, s *redistest.Server) {
			s.Client.Del(t.Context(), "plumbline:store:s", "plumbline:store:head")
			if err := s.Client.Set(t.Context(), "plumbline:store:head", "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a kind alone of another type", func(t *testing.T, s *redistest.Server) {
			s.Client.Del(t.Context(), "plumbline:store:a")
			if err := s.Client.Set(t.Context(), "plumbline:store:a", "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}},
		{"an epoch that is none", func(t *testing.T, s *redistest.Server) {
			if err := s.Client.HSet(t.Context(), "plumbline:store:head", "epoch", "18446744073709551615").Err(); err != nil {
				t.Fatal(err)
			}
		}},
		{"a kind of another type", func(t *testing.T, s *redistest.Server) {
			s.Client.Del(t.Context(), "plumbline:store:s", "plumbline:store:head")
			if err := s.Client.Set(t.Context(), "plumbline:store:s", "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		for _, save := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, then something is saved: %v", tc.name, save), func(t *testing.T) {
				server, want := redistest.Start(t), contents{}
				r := openRedis(t, redisconn.Config{Address: server.Address})
				for id := range uint64(2000) {
					r.Save(Session, id+10, []byte("session"))
					want[name{Session, id + 10}] = "session"
				}
				r.Save(Association, 1, []byte("association"))
				want[name{Association, 1}] = "association"
				flush(t, r)
				r.Drop(Session, 10)
				delete(want, name{Session, 10})
				flush(t, r)
				tc.lose(t, server)
				if save {
					r.Save(Session, 11, []byte("newer"))
					r.Drop(Session, 12)
					want[name{Session, 11}] = "newer"
					delete(want, name{Session, 12})
					flush(t, r)
				}
				for end := time.Now().Add(20 * time.Second); r.Rewrites() == 0; time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("not written again")
					}
				}
				again := openRedis(t, redisconn.Config{Address: server.Address})
				equal(t, load(t, again), want)
				if lost := again.Lost(); lost != (Lost{}) {
					t.Errorf("%+v lost", lost)
				}
				// Who was there before does not write any more.
				r.Save(Session, 99, []byte("late"))
				if err := r.Flush(t.Context()); !errors.Is(err, ErrLocked) {
					t.Errorf("Flush of the one that was replaced: %v, want %v", err, ErrLocked)
				}
			})
		}
	}
}

// TestRedisPartial: when the process that wrote everything again was ended before it had,
// the next one knows that some is lost, until that was told.
func TestRedisPartial(t *testing.T) {
	server := redistest.Start(t)
	r := openRedis(t, redisconn.Config{Address: server.Address})
	r.Save(Session, 1, []byte("one"))
	flush(t, r)
	if err := server.Client.HSet(t.Context(), "plumbline:store:head", "complete", "0", "epoch", redisNumber(1)).Err(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1, 1, 0} {
		again := openRedis(t, redisconn.Config{Address: server.Address})
		equal(t, load(t, again), contents{{Session, 1}: "one", {Meta, 1}: "m"}.without(i == 0, name{Meta, 1}))
		if got := again.Lost().Records; got != want {
			t.Errorf("start %d: %d lost, want %d", i, got, want)
		}
		again.Save(Meta, 1, []byte("m"))
		flush(t, again)
		if i == 1 {
			again.Told()
		}
	}
}

// without is c without a name, if it is to be.
func (c contents) without(yes bool, n name) contents {
	if yes {
		delete(c, n)
	}
	return c
}

// TestRedisLong: a record that is longer than any is lost, and counted; the others are there.
func TestRedisLong(t *testing.T) {
	server := redistest.Start(t)
	r := openRedis(t, redisconn.Config{Address: server.Address})
	r.Save(Session, 1, []byte("one"))
	flush(t, r)
	const long = "redis.call('SETRANGE', 'x', ARGV[2], 'x') return redis.call('HSET', KEYS[1], ARGV[1], redis.call('GET', 'x'))"
	if err := server.Client.Eval(t.Context(), long, []string{"plumbline:store:s"}, "\x00\x00\x00\x00\x00\x00\x00\x09", MaxRecord).Err(); err != nil {
		t.Fatal(err)
	}
	again := openRedis(t, redisconn.Config{Address: server.Address})
	equal(t, load(t, again), contents{{Session, 1}: "one"})
	if lost := again.Lost(); lost.Records != 1 {
		t.Errorf("%+v lost, want 1 record", lost)
	}
}
