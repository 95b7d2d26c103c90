package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
)

// readCount is how many entries of a stream are read at a time.
const readCount = 64

// Read waits for entries of a stream behind position. Of an entry that is too long it
// returns the ID alone, which [Entry] refuses, so whoever reads goes on behind it.
//
// Errors: redis.Nil if none came within [BlockTime].
func Read(ctx context.Context, c *redis.Client, stream, position string) ([]redis.XMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*BlockTime)
	defer cancel()
	streams, err := c.XRead(ctx, &redis.XReadArgs{
		Streams: []string{stream, position}, Count: readCount, Block: BlockTime}).Result()
	if errors.Is(err, redisconn.ErrTooLong) {
		return readOne(ctx, c, stream, position)
	}
	if err != nil || len(streams) == 0 {
		return nil, err
	}
	return streams[0].Messages, nil
}

// one is the first entry behind a position, or nothing; its length where it is too long.
//
// Keys: stream. Arguments: position, most octets, field.
var one = redis.NewScript(`
local r = redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], ARGV[1])
if not r then return {} end
local id, fields, n, value = r[1][2][1][1], r[1][2][1][2], 0, ''
for i = 1, #fields, 2 do
  n = n + #fields[i] + #fields[i+1]
  if fields[i] == ARGV[3] then value = fields[i+1] end
end
if n > tonumber(ARGV[2]) then value = n end
return {id, value}
`)

func readOne(ctx context.Context, c *redis.Client, stream, position string) ([]redis.XMessage, error) {
	reply, err := one.Run(ctx, c, []string{stream}, position, redisconn.MaxValue, Field).Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) < 2 {
		return nil, redis.Nil
	}
	return []redis.XMessage{{ID: fmt.Sprint(reply[0]), Values: map[string]any{Field: reply[1]}}}, nil
}

// end is the ID of the last entry of a stream, and the fields of the head at that moment.
//
// Keys: stream, head. Arguments: fields.
var end = redis.NewScript(`
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
return {last[1] and last[1][1] or '0-0', redis.call('HMGET', KEYS[2], unpack(ARGV))}
`)

// Snapshot returns the position of the last change, and the head at that moment.
func (k Keys) Snapshot(ctx context.Context, c *redis.Client) (string, Head, error) {
	args := make([]any, len(HeadFields))
	for i, f := range HeadFields {
		args[i] = f
	}
	reply, err := end.Run(ctx, c, []string{k.Changes, k.Head}, args...).Slice()
	if err != nil {
		return "", Head{}, err
	}
	fields, ok := reply[1].([]any)
	if !ok {
		return "", Head{}, fmt.Errorf("head: %T: %w", reply[1], ErrMessage)
	}
	h, err := ParseHead(fields)
	return fmt.Sprint(reply[0]), h, err
}

// last is the ID of the last entry of a stream.
//
// Keys: stream.
var last = redis.NewScript(`
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
return last[1] and last[1][1] or '0-0'
`)

// Last returns the position of the last entry of a stream.
func Last(ctx context.Context, c *redis.Client, stream string) (string, error) {
	return last.Run(ctx, c, []string{stream}).Text()
}
