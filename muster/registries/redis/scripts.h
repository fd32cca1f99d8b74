// What must happen in Redis at one stroke, in its Lua. For layout.cpp alone.

#pragma once

namespace muster::registries::redis {

// KEYS: incarnations, hash of the type, lease, types, gone
// ARGV: name, type, id, incarnation or 0, lease in ms, record, channel, group
// Returns the incarnation, or 0 if a younger one bears the name.
inline constexpr const char* kAnnounceScript = R"lua(
local known = redis.call('HGET', KEYS[1], ARGV[1])
local highest, holder, type = 0, '', ARGV[2]
if known then
  local n, i, t = string.match(known, '^(%d+) (%x+) (%S+)$')
  if n then highest, holder, type = tonumber(n), i, t end
end
local mine = tonumber(ARGV[4])
if holder == ARGV[3] then
  mine = math.max(mine, highest)
elseif mine == 0 then
  mine = highest + 1
elseif mine <= highest then
  return 0
end
if type ~= ARGV[2] then redis.call('HDEL', ARGV[8] .. ':' .. type, ARGV[1]) end
local news = mine ~= highest or redis.call('GET', KEYS[3]) ~= ARGV[3] or redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[6]
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[5])
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', mine) .. ' ' .. ARGV[3] .. ' ' .. ARGV[2])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[6])
redis.call('SADD', KEYS[4], ARGV[2])
redis.call('HDEL', KEYS[5], ARGV[1])
for i = 1, 4 do
  if i ~= 3 then redis.call('PEXPIRE', KEYS[i], 604800000) end
end
if news then redis.call('PUBLISH', ARGV[7], 'joined ' .. ARGV[1]) end
return mine
)lua";

// KEYS: incarnations
// ARGV: group, channel; then name, incarnation, id, type, for each component
// A Redis that has come back empty is told how high its components had counted. Who has
// come meanwhile, under such a name and as another, counts on from there.
inline constexpr const char* kRemindScript = R"lua(
for i = 3, #ARGV, 4 do
  local name, height, id, type = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local known = redis.call('HGET', KEYS[1], name)
  local n, holder, its = string.match(known or '', '^(%d+) (%x+) (%S+)$')
  n = tonumber(n or 0)
  if n < height or (n == height and holder ~= id) then
    local lease = redis.call('GET', ARGV[1] .. '::lease:' .. name)
    if holder and lease == holder and holder ~= id then
      height, id, type = height + 1, holder, its
      redis.call('PUBLISH', ARGV[2], 'joined ' .. name)
    end
    if n < height then
      redis.call('HSET', KEYS[1], name, string.format('%.0f', height) .. ' ' .. id .. ' ' .. type)
    end
  end
end
return (#ARGV - 2) / 4
)lua";

// KEYS: incarnations, types, gone, heard, calm
// ARGV: group, lease in ms, channel
// If nobody was heard for half a lease, it was Redis that stood still or was
// away: for the next lease nobody is removed, so that all can renew theirs.
inline constexpr const char* kRollScript = R"lua(
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local heard = tonumber(redis.call('GET', KEYS[4]) or nil)
redis.call('SET', KEYS[4], string.format('%.0f', now), 'PX', 604800000)
if not heard or now - heard > tonumber(ARGV[2]) / 2 then
  redis.call('SET', KEYS[5], '1', 'PX', ARGV[2])
end
local calm = redis.call('EXISTS', KEYS[5]) == 1
local out, lost = {}, 0
for _, type in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local key = ARGV[1] .. ':' .. type
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do
    local known = redis.call('HGET', KEYS[1], flat[i])
    if known then
      local leased = redis.call('EXISTS', ARGV[1] .. '::lease:' .. flat[i])
      if leased == 0 and not calm then
        redis.call('HDEL', key, flat[i])
        redis.call('HSET', KEYS[3], flat[i], 'lost ' .. string.match(known, '^%d*'))
        lost = lost + 1
      else
        out[#out + 1] = {flat[i], type, known, flat[i + 1], leased}
      end
    end
  end
end
if lost > 0 then
  if redis.call('HLEN', KEYS[3]) > 10000 then redis.call('DEL', KEYS[3]) end
  redis.call('PEXPIRE', KEYS[3], 3600000)
  redis.call('PUBLISH', ARGV[3], 'lost ' .. lost)
end
return {out, redis.call('HGETALL', KEYS[3])}
)lua";

// KEYS: incarnations, hash of the type, lease, gone
// ARGV: name, id, channel
inline constexpr const char* kLeaveScript = R"lua(
local known = redis.call('HGET', KEYS[1], ARGV[1])
local n, id = string.match(known or '', '^(%d+) (%x+)')
if id ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[3])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[4], ARGV[1], 'left ' .. n)
redis.call('PEXPIRE', KEYS[4], 3600000)
redis.call('PUBLISH', ARGV[3], 'left ' .. ARGV[1])
return 1
)lua";

}  // namespace muster::registries::redis
