package store

import "github.com/redis/go-redis/v9"

// Answers of the scripts.
const (
	redisOK     = "ok"
	redisLost   = "lost"   // the server does not have what we wrote last
	redisFenced = "fenced" // another process writes under this prefix
)

// The hash head says who writes, what the last version is and whether all is
// there. Numbers are text of 20 digits, so their order is that of the numbers.
// A value that is no number names no writer.
// A version that is higher than the one acknowledged was written, too: only its
// acknowledgement was lost.
const redisFence = `
local head = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'complete')
if head[1] and #head[1] == 20 and string.find(head[1], '^0%d+$') and head[1] > ARGV[1] then return 'fenced' end
if head[1] ~= ARGV[1] or head[3] ~= ARGV[2] or not head[2] or head[2] < ARGV[3] then return 'lost' end
`

// redisWrite does operations, all or none.
//
// Keys: head, then one for each kind. Arguments: epoch, complete, acknowledged
// version, its version, number of fields that are set, for each of them its key,
// field and value; then key and field of those removed.
var redisWrite = redis.NewScript(redisFence + `
local sets = tonumber(ARGV[5])
for i = 6, 5 + 3 * sets, 3 do redis.call('HSET', KEYS[tonumber(ARGV[i])], ARGV[i+1], ARGV[i+2]) end
for i = 6 + 3 * sets, #ARGV, 2 do redis.call('HDEL', KEYS[tonumber(ARGV[i])], ARGV[i+1]) end
redis.call('HSET', KEYS[1], 'version', ARGV[4])
return 'ok'
`)

// redisCheck says whether the server has what we wrote last.
//
// Keys: head, then one for each kind. Arguments: epoch, complete, acknowledged version.
var redisCheck = redis.NewScript(redisFence + `
for i = 2, #KEYS do
  local t = redis.call('TYPE', KEYS[i]).ok
  if t ~= 'hash' and t ~= 'none' then return 'lost' end
end
return 'ok'
`)

// redisBegin makes the server forget everything, to be written anew.
//
// Keys: head, then one for each kind. Arguments: epoch, version.
var redisBegin = redis.NewScript(`
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  local epoch = redis.call('HGET', KEYS[1], 'epoch')
  if epoch and #epoch == 20 and string.find(epoch, '^0%d+$') and epoch > ARGV[1] then return 'fenced' end
end
for i = 1, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'version', ARGV[2], 'complete', '0')
return 'ok'
`)

// redisComplete says that all is there.
//
// Keys: head. Arguments: epoch, complete, acknowledged version.
var redisComplete = redis.NewScript(redisFence + `
redis.call('HSET', KEYS[1], 'complete', '1')
return 'ok'
`)

// redisOpen makes us the one who writes. It returns whether all is there: it is
// if nobody has ever said that it is not.
//
// Keys: head. Arguments: epoch, version.
var redisOpen = redis.NewScript(`
local complete = '1'
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  complete = redis.call('HGET', KEYS[1], 'complete') or '1'
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[1])
  complete = '0'
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'version', ARGV[2], 'complete', complete)
return complete
`)
