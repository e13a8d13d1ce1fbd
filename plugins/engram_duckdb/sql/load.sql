-- name: memories
select r.mid, r.rid, r.cid, r.rev, r.kind, r.status, r.priority, r.confidence, r.origin, r.source, r.pinned, r.confirmations,
  r.created_cycle, r.updated_cycle, epoch_us(r.valid_from) as valid_from, epoch_us(r.valid_until) as valid_until,
  epoch_us(r.expires_at) as expires_at, r.state, epoch_us(r.updated_at) as updated_at
from revision r where r.known_to is null order by r.mid

-- name: identities
select mid, collection, id, epoch_us(created_at) as created_at, root_mid from memory order by mid

-- name: contents
select cid, hash from content

-- name: edges
select eid, rid, rev, id, src, dst, type, weight, origin, created_cycle, epoch_us(valid_from) as valid_from,
  epoch_us(valid_until) as valid_until, state, retired_with, epoch_us(created_at) as created_at, epoch_us(updated_at) as updated_at,
  (metadata::varchar = '{}' and attributes::varchar = '{}') as bare
from edge where known_to is null order by eid

-- name: usage
select mid, count, epoch_us(last_at) as last_at from usage

-- name: cards
select kind, collection, id, body::varchar, rev from card where known_to is null

-- name: models
select model, name, dimension from embedding_model

-- name: counters
select (select coalesce(max(mid), 0) from memory), (select coalesce(max(cid), 0) from content),
  (select coalesce(max(rid), 0) from revision), (select coalesce(max(eid), 0) from edge), (select coalesce(max(rid), 0) from edge)

-- name: tail
select seq, hash, epoch_us(at_utc) from oplog order by seq desc limit 1
