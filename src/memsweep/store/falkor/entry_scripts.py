"""Scripts that the server runs on the entry of a workspace in one step. Pure text."""

from __future__ import annotations

# Both keys are in one slot, and a script is done whole.
HIDE = """
    if redis.call('hget', KEYS[1], 'graph') ~= ARGV[1] then return 0 end
    redis.call('hset', KEYS[2], ARGV[1], ARGV[2]) redis.call('del', KEYS[1]) return 1"""
IS_LISTED = "return redis.call('HEXISTS', KEYS[1], ARGV[1])"
SHOW = """
    if redis.call('exists', KEYS[1]) == 1 then return 0 end
    redis.call('hset', KEYS[1], 'graph', ARGV[1], 'description', ARGV[2], 'created_at', ARGV[3], 'project', ARGV[4])
    redis.call('hdel', KEYS[2], ARGV[1]) return 1"""
UNHIDE = """
    if redis.call('hget', KEYS[2], ARGV[1]) ~= ARGV[4] then return -1 end
    if redis.call('exists', KEYS[1]) == 1 then return 0 end
    redis.call('hset', KEYS[1], 'graph', ARGV[1], 'description', ARGV[2], 'created_at', ARGV[3], 'events', ARGV[5],
               'project', ARGV[6])
    redis.call('hdel', KEYS[2], ARGV[1]) return 1"""
PASSED_ON = "if redis.call('hget', KEYS[1], 'events') == ARGV[1] then redis.call('hdel', KEYS[1], 'events') end"
REPLACE = """
    if (redis.call('hget', KEYS[1], 'graph') or '') ~= ARGV[4] then return 0 end
    if ARGV[4] ~= '' then redis.call('hset', KEYS[2], ARGV[4], ARGV[5]) end
    local project = redis.call('hget', KEYS[1], 'project') or ''
    redis.call('del', KEYS[1])
    redis.call('hset', KEYS[1], 'graph', ARGV[1], 'description', ARGV[2], 'created_at', ARGV[3], 'project', project)
    redis.call('hdel', KEYS[2], ARGV[1]) return 1"""
ASSIGN = """
    if redis.call('exists', KEYS[1]) == 0 then return 0 end
    redis.call('hset', KEYS[1], 'project', ARGV[1]) return 1"""
DESCRIBE = """
    if redis.call('exists', KEYS[1]) == 0 then return 0 end
    redis.call('hset', KEYS[1], 'description', ARGV[1]) return 1"""
# A field of a hash, if it is still what was read.
FREE = """
    if redis.call('hget', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
    redis.call('hset', KEYS[1], ARGV[1], ARGV[3]) return 1"""
# Of tokens: a name is free again once its token is revoked.
ADD_TOKEN = """
    for _, kept in ipairs(redis.call('hvals', KEYS[1])) do
        local token = cjson.decode(kept)
        if token['name'] == ARGV[3] and not token['revoked_at'] then return 0 end
    end
    return redis.call('hsetnx', KEYS[1], ARGV[1], ARGV[2])"""
