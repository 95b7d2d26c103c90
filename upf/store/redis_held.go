package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
)

const (
	// redisBatch is how many operations are one transaction at most.
	redisBatch = 10_000
	// redisFill is how many records are written at once when all are.
	redisFill = 500
	// redisCheckInterval is how long it takes to notice that a server has lost its
	// data, if nothing is saved meanwhile.
	redisCheckInterval = time.Second
)

// errLost: the server does not have what we wrote last.
var errLost = errors.New("the server has lost its data")

// open makes this process the one that writes under the prefix, whatever the
// clock says.
func (r *Redis) open(ctx context.Context) error {
	old, err := r.client.HGet(ctx, r.head(), "epoch").Result()
	if err != nil && !errors.Is(err, redis.Nil) && !redisconn.NotOurs(err) {
		return err
	}
	before, _ := strconv.ParseUint(old, 10, 63) //nolint:errcheck // not ours: 0
	r.epoch = max(uint64(time.Now().UnixNano()), before+1)
	complete, err := redisOpen.Run(ctx, r.client, []string{r.head()}, redisNumber(r.epoch), redisNumber(0)).Text()
	if err != nil {
		return err
	}
	if r.partial = complete != "1"; r.partial {
		r.log.Error("store: a process that wrote everything again to redis was ended before it had: some of it is lost")
		r.lost.Records = 1
	}
	return nil
}

func (r *Redis) head() string { return r.prefix + "head" }

// keys are those of the scripts: head, then kinds.
func (r *Redis) keys() []string {
	k := []string{r.head()}
	for _, kind := range kinds {
		k = append(k, r.key(kind))
	}
	return k
}

// redisNumber is n as the scripts compare it.
func redisNumber(n uint64) string { return fmt.Sprintf("%020d", n) }

// fence are the first arguments of the scripts.
func (r *Redis) fence(complete bool) []any {
	c := "0"
	if complete {
		c = "1"
	}
	return []any{redisNumber(r.epoch), c, redisNumber(r.acknowledged)}
}

// answered is what an answer of a script means.
func (r *Redis) answered(answer string, err error) error {
	switch {
	case redisconn.NotOurs(err):
		return fmt.Errorf("%w: %w", errLost, err)
	case err != nil:
		return err
	case answer == redisLost:
		return errLost
	case answer == redisFenced:
		return fmt.Errorf("prefix %s: %w", r.prefix, ErrLocked)
	}
	return nil
}

// write writes a batch; called by who holds the token.
func (r *Redis) write(ctx context.Context, batch map[name][]byte) error {
	var sets, drops []any
	flush := func() error {
		if len(sets)+len(drops) == 0 {
			return nil
		}
		r.version++
		args := append(r.fence(!r.partial), redisNumber(r.version), len(sets)/3)
		args = append(append(args, sets...), drops...)
		sets, drops = sets[:0], drops[:0]
		if err := r.answered(redisWrite.Run(ctx, r.client, r.keys(), args...).Text()); err != nil {
			return err
		}
		r.acknowledged = r.version
		return nil
	}
	for n, record := range batch {
		field := binary.BigEndian.AppendUint64(nil, n.id)
		if record == nil {
			drops = append(drops, keyIndex(n.kind), field)
		} else {
			sets = append(sets, keyIndex(n.kind), field, record)
		}
		if len(sets)/3+len(drops)/2 == redisBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// keyIndex is which of the scripts' keys a kind has.
func keyIndex(kind byte) int {
	for i, k := range kinds {
		if k == kind {
			return i + 2
		}
	}
	panic(fmt.Sprintf("store: no kind %q", kind))
}

// hold notes what the server is to have; called by who holds the token.
func (r *Redis) hold(batch map[name][]byte) {
	for n, record := range batch {
		if record == nil {
			delete(r.held, n)
		} else {
			r.held[n] = record
		}
	}
}

// rewrite writes everything that is held anew; called by who holds the token.
func (r *Redis) rewrite(ctx context.Context) error {
	start := time.Now()
	r.log.Warn("store: redis lost its data, all is written again", "records", len(r.held))
	r.version++
	err := r.answered(redisBegin.Run(ctx, r.client, r.keys(), redisNumber(r.epoch), redisNumber(r.version)).Text())
	if err != nil {
		return err
	}
	r.acknowledged = r.version
	args, n := append(r.fence(false), redisNumber(r.version), 0), 0
	fixed := len(args)
	fill := func() error {
		if n == 0 {
			return nil
		}
		args[fixed-1] = n
		err := r.answered(redisWrite.Run(ctx, r.client, r.keys(), args...).Text())
		args, n = args[:fixed], 0
		return err
	}
	for name, record := range r.held {
		args = append(args, keyIndex(name.kind), binary.BigEndian.AppendUint64(nil, name.id), record)
		if n++; n == redisFill {
			if err := fill(); err != nil {
				return err
			}
		}
	}
	if err := fill(); err != nil {
		return err
	}
	if err := r.answered(redisComplete.Run(ctx, r.client, []string{r.head()}, r.fence(false)...).Text()); err != nil {
		return err
	}
	r.stale, r.partial = false, false
	r.rewrites.Add(1)
	r.log.Info("store: redis has everything again", "records", len(r.held), "took", time.Since(start).Round(time.Millisecond))
	return nil
}

// watch notices that the server has lost its data while nothing is saved.
func (r *Redis) watch() {
	defer r.background.Done()
	tick := time.NewTicker(redisCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.stop.Done():
			return
		case <-tick.C:
		}
		if err := r.check(); err != nil && r.stop.Err() == nil {
			r.log.Debug("store: redis not checked", "error", err)
		}
	}
}

func (r *Redis) check() error {
	select {
	case r.waiting <- struct{}{}:
	case <-r.stop.Done():
		return nil
	}
	defer func() { <-r.waiting }()
	if !r.stale {
		err := r.answered(redisCheck.Run(r.stop, r.client, r.keys(), r.fence(!r.partial)...).Text())
		if !errors.Is(err, errLost) {
			return err
		}
		r.stale = true
	}
	return r.rewrite(r.stop)
}

// Rewrites is how often everything was written again, as the server had lost it.
func (r *Redis) Rewrites() uint64 { return r.rewrites.Load() }
