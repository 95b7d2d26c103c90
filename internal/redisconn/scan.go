package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Pair is a field of a hash.
type Pair struct {
	Field string // if Err is not nil, perhaps its first [fieldMax] octets only
	Value string
	Err   error // [ErrTooLong]: field or value has too many octets, and the value is not read
}

// fieldMax is the most octets that the name of a field has; ours have 8.
const fieldMax = 64

// scan is HSCAN that returns the length of a value in its place where there is no room
// for it any more. A field that is too long is cut, and has its own length in the place of
// its value, below 0.
//
// Keys: hash. Arguments: cursor, count, octets of all values, octets of a field.
var scan = redis.NewScript(`
local r = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local room, field = tonumber(ARGV[3]), tonumber(ARGV[4])
for i = 1, #r[2], 2 do
  local f, n = #r[2][i], #r[2][i+1]
  if f > field then
    r[2][i], r[2][i+1] = string.sub(r[2][i], 1, field), -f
  elseif n > room then
    r[2][i+1] = n
  else
    room = room - n
  end
end
return r
`)

// Scan returns some fields of a hash, and the cursor at which to go on; 0: that were all.
// As with HSCAN, a field may come twice.
func Scan(ctx context.Context, c *redis.Client, key string, cursor uint64, count int) ([]Pair, uint64, error) {
	reply, err := scan.Run(ctx, c, []string{key}, cursor, count, MaxValue, fieldMax).Slice()
	if err != nil {
		return nil, 0, err
	}
	if len(reply) != 2 {
		return nil, 0, fmt.Errorf("HSCAN: %d elements: %w", len(reply), errReply)
	}
	at, _ := reply[0].(string)
	next, err := strconv.ParseUint(at, 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("HSCAN: cursor %v: %w", reply[0], errReply)
	}
	values, ok := reply[1].([]any)
	if !ok {
		return nil, 0, fmt.Errorf("HSCAN: %T: %w", reply[1], errReply)
	}
	pairs := make([]Pair, 0, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		field, _ := values[i].(string)
		p, err := pair(ctx, c, key, field, values[i+1])
		if errors.Is(err, redis.Nil) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		pairs = append(pairs, p)
	}
	return pairs, next, nil
}

var errReply = errors.New("not a reply to this command")

// pair reads a value for which there was no room.
func pair(ctx context.Context, c *redis.Client, key, field string, value any) (Pair, error) {
	p := Pair{Field: field}
	switch v := value.(type) {
	case string:
		p.Value = v
	case int64:
		if v < 0 {
			p.Err = fmt.Errorf("field of %d octets, at most %d: %w", -v, fieldMax, ErrTooLong)
			break
		}
		if v > MaxValue {
			p.Err = fmt.Errorf("value of %d octets, at most %d: %w", v, MaxValue, ErrTooLong)
			break
		}
		var err error
		p.Value, err = c.HGet(ctx, key, field).Result()
		return p, err
	}
	return p, nil
}
