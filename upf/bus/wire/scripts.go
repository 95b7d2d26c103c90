package wire

import "github.com/redis/go-redis/v9"

// Answers of the scripts of the control plane.
const (
	OK     = "ok"
	Again  = "again"  // this very batch was written before; nothing is written twice
	Lost   = "lost"   // Redis does not have what we wrote last
	Fenced = "fenced" // another control plane has taken over
)

// fence is the beginning of each script. Epochs and versions are text of equal
// length, so their order is that of the numbers, which Lua could not hold.
//
// What is no epoch, is nobody's; and what has the wrong type was not written by us.
const fence = `
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 'lost' end
local head = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'complete')
local epoch, version, complete = head[1], head[2], head[3]
if epoch and #epoch == 20 and string.find(epoch, '^0%d+$') and epoch > ARGV[1] then return 'fenced' end
if epoch ~= ARGV[1] then return 'lost' end
`

// Write puts a batch into the stream, and what it makes of the sessions into the
// hash, at once, and once only, however often it is asked to.
//
// Keys: head, desired, changes. Arguments: epoch, previous, last, length of the
// stream, the batch, number of sessions that are set, and for each of them field
// and value; then the fields of those removed.
var Write = redis.NewScript(fence + `
if version == ARGV[3] and ARGV[2] ~= ARGV[3] then return 'again' end
if version ~= ARGV[2] then return 'lost' end
local sets = tonumber(ARGV[6])
for i = 7, 6 + 2 * sets, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i+1]) end
for i = 7 + 2 * sets, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
redis.call('HSET', KEYS[1], 'version', ARGV[3])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[4], '*', 'b', ARGV[5])
return 'ok'
`)

// Check says whether Redis still has what we wrote last.
//
// Keys: head, desired, changes. Arguments: epoch, version.
var Check = redis.NewScript(fence + `
local d, c = redis.call('TYPE', KEYS[2]).ok, redis.call('TYPE', KEYS[3]).ok
if d ~= 'hash' and d ~= 'none' or c ~= 'stream' and c ~= 'none' then return 'lost' end
if version ~= ARGV[2] or complete ~= '1' then return 'lost' end
return 'ok'
`)

// TakeOver makes us the one who writes, if the head is as we read it.
//
// Keys: head. Arguments: new epoch, old epoch or "".
var TakeOver = redis.NewScript(`
local old = redis.call('HGET', KEYS[1], 'epoch') or ''
if old ~= ARGV[2] then return 'again' end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 'ok'
`)

// Begin starts to write all anew.
//
// Keys: head, desired, changes. Arguments: new epoch, version.
var Begin = redis.NewScript(`
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  local old = redis.call('HGET', KEYS[1], 'epoch')
  if old and #old == 20 and string.find(old, '^0%d+$') and old > ARGV[1] then return 'fenced' end
end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'version', ARGV[2], 'complete', '0')
return 'ok'
`)

// Fill writes some of all.
//
// Keys: head, desired. Arguments: epoch, field, value ...
var Fill = redis.NewScript(fence + `
if complete ~= '0' then return 'lost' end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i+1]) end
return 'ok'
`)

// Complete says that all is there, and has agents look.
//
// Keys: head, changes. Arguments: epoch, the batch.
var Complete = redis.NewScript(fence + `
redis.call('HSET', KEYS[1], 'complete', '1')
redis.call('XADD', KEYS[2], '*', 'b', ARGV[2])
return 'ok'
`)

// Renew is an agent's sign of life. It returns 0 if another process has taken
// the agent's name, 2 if Redis did not know of us, else 1.
//
// Keys: owner, alive. Arguments: instance, message, milliseconds.
var Renew = redis.NewScript(`
local owner = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1])
if owner and #owner == 20 and string.find(owner, '^0%d+$') and owner > ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
if owner ~= ARGV[1] then return 2 end
return 1
`)

// Tell adds an entry of events unless there are too many that nobody has dealt
// with: then it returns 0, else 1.
//
// Keys: events. Arguments: most entries, the message.
var Tell = redis.NewScript(`
local t = redis.call('TYPE', KEYS[1]).ok
if t ~= 'stream' and t ~= 'none' then redis.call('DEL', KEYS[1]) end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('XADD', KEYS[1], '*', 'b', ARGV[2])
return 1
`)
