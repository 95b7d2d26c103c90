package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
)

// RedisConfig says where a [Redis] keeps its records.
type RedisConfig struct {
	Server redisconn.Config
	Prefix string // of the keys; empty: "plumbline"
	Log    *slog.Logger
}

// Redis is the [Store] in a Redis or Valkey server: for each kind one hash,
// PREFIX:store:KIND, whose fields are the numbers, 8 octets, big endian.
//
// What is saved between two Flushes is one transaction. Of each name only the last
// operation is kept in memory, so while the server cannot be reached that does
// not grow with every request.
//
// What the server is to have is held in memory, too: when it has lost that, or comes
// back with older data, all is written again. By PREFIX:store:head it is noticed, and
// that another process writes under the prefix: then this one does not any more.
//
// How long the server keeps what it has acknowledged is a matter of its own
// configuration (appendonly).
type Redis struct {
	client *redis.Client
	prefix string
	log    *slog.Logger

	stop       context.Context // ends the background
	cancel     context.CancelFunc
	background sync.WaitGroup
	rewrites   atomic.Uint64

	waiting      chan struct{}   // holds one token while somebody writes; of who has it are
	held         map[name][]byte // what the server is to have
	epoch        uint64          // of this process: higher than that of any before it
	version      uint64          // of what was written last,
	acknowledged uint64          // and of what we know to be there
	stale        bool            // all has to be written again
	partial      bool            // some was missing when we came, and nobody was told yet

	mu      sync.Mutex
	pending map[name][]byte // nil: dropped
	closed  bool
	lost    Lost
}

var _ Store = (*Redis)(nil)

// OpenRedis connects to the server.
//
// Errors: those of the server and of the network.
func OpenRedis(ctx context.Context, c RedisConfig) (*Redis, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Prefix == "" {
		c.Prefix = "plumbline"
	}
	client, err := redisconn.Open(c.Server)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf("store: redis %s: %w", c.Server.Address, err)
	}
	r := &Redis{
		client: client, prefix: c.Prefix + ":store:", log: c.Log,
		pending: map[name][]byte{}, held: map[name][]byte{}, waiting: make(chan struct{}, 1),
	}
	if err := r.open(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("store: redis %s: %w", c.Server.Address, err)
	}
	r.stop, r.cancel = context.WithCancel(context.Background())
	r.background.Add(1)
	go r.watch()
	return r, nil
}

// Save implements [Store].
func (r *Redis) Save(kind byte, id uint64, record []byte) {
	if len(record) > MaxRecord {
		panic(fmt.Sprintf("store: record %c %#x of %d octets", kind, id, len(record)))
	}
	r.add(name{kind, id}, append(make([]byte, 0, len(record)), record...))
}

// Drop implements [Store].
func (r *Redis) Drop(kind byte, id uint64) { r.add(name{kind, id}, nil) }

func (r *Redis) add(n name, record []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.pending[n] = record
	}
}

// flushTimeout is how long a server that does not answer may keep who waits for
// Flush. To write everything again may take longer: that goes on then.
const flushTimeout = time.Second

// Flush implements [Store]: it returns nil when the server has acknowledged, and an
// error when it has not done so within a second. Those that come while another writes
// are written together.
func (r *Redis) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return r.flush(ctx)
}

func (r *Redis) flush(ctx context.Context) error {
	select {
	case r.waiting <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.waiting }()
	r.mu.Lock()
	batch := r.pending
	if len(batch) == 0 && !r.stale {
		r.mu.Unlock()
		return nil // another's Flush took ours with it
	}
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	r.pending = make(map[name][]byte, len(batch))
	r.mu.Unlock()
	if err := r.keep(ctx, batch); err != nil {
		r.putBack(batch)
		return fmt.Errorf("store: redis: %w", err)
	}
	r.hold(batch)
	return nil
}

// keep writes a batch, or everything if the server does not have what it had.
func (r *Redis) keep(ctx context.Context, batch map[name][]byte) error {
	if !r.stale {
		err := r.write(ctx, batch)
		if !errors.Is(err, errLost) {
			return err
		}
		r.stale = true
	}
	if err := r.rewrite(ctx); err != nil {
		return err
	}
	return r.write(ctx, batch)
}

// putBack makes what could not be written pending again, unless there is
// something newer.
func (r *Redis) putBack(batch map[name][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, record := range batch {
		if _, newer := r.pending[n]; !newer {
			r.pending[n] = record
		}
	}
}

func (r *Redis) key(kind byte) string { return r.prefix + string(rune(kind)) }

// scanCount is how many records the server is asked for at a time.
const scanCount = 1000

// Load implements [Store].
func (r *Redis) Load(ctx context.Context, each func(kind byte, id uint64, record []byte) error) error {
	r.waiting <- struct{}{}
	defer func() { <-r.waiting }()
	for _, kind := range kinds {
		if err := r.loadKind(ctx, kind, each); err != nil {
			return fmt.Errorf("store: redis: %w", err)
		}
	}
	return nil
}

func (r *Redis) loadKind(ctx context.Context, kind byte, each func(kind byte, id uint64, record []byte) error) error {
	// HSCAN may return a field more than once.
	seen := map[uint64]struct{}{}
	for cursor := uint64(0); ; {
		pairs, next, err := redisconn.Scan(ctx, r.client, r.key(kind), cursor, scanCount)
		if redisconn.NotOurs(err) {
			r.log.Error("key passed over", "key", r.key(kind), "error", err)
			r.lose(0)
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if len(p.Field) != 8 || p.Err != nil {
				r.log.Error("record skipped", "key", r.key(kind), "field", fmt.Sprintf("%#x", p.Field), "error", p.Err)
				r.lose(len(p.Field) + len(p.Value))
				continue
			}
			id := binary.BigEndian.Uint64([]byte(p.Field))
			if _, again := seen[id]; again {
				continue
			}
			seen[id] = struct{}{}
			record := []byte(p.Value)
			if err := each(kind, id, record); err != nil {
				return err
			}
			r.held[name{kind, id}] = record
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// lose notes that a field is not one of ours.
func (r *Redis) lose(octets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost.Records++
	r.lost.Octets += uint64(octets)
}

// Told implements [Store]: what is held is written anew.
func (r *Redis) Told() {
	if r.Lost() == (Lost{}) {
		return
	}
	r.waiting <- struct{}{}
	r.stale = true
	<-r.waiting
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := r.flush(ctx); err != nil {
		r.log.Warn("store: what is damaged is not replaced yet", "error", err)
	}
}

// Lost implements [Store].
func (r *Redis) Lost() Lost {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Close implements [Store].
func (r *Redis) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	r.cancel()
	r.background.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := r.flush(ctx)
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return errors.Join(err, r.client.Close())
}

// closeTimeout is how long a server that does not answer may keep a process
// from ending.
const closeTimeout = 5 * time.Second
