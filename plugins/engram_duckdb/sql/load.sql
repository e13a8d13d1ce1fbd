-- name: words
select distinct {column} from {table} where known_to is null and {column} is not null

-- name: collections
select distinct collection from memory

-- name: memories
select r.mid, r.rid, r.cid, r.rev as revision, r.priority, r.confidence, r.pinned, r.confirmations, r.created_cycle, r.updated_cycle,
  epoch_us(r.valid_from) as valid_from, epoch_us(r.valid_until) as valid_until, epoch_us(r.expires_at) as expires_at,
  epoch_us(r.updated_at) as updated_at, r.print,
  {codes}
from revision r {joins} where r.known_to is null

-- name: identities
select m.mid, epoch_us(m.created_at) as created_at, m.root_mid as root, {codes} from memory m {joins}

-- name: names
select {number}, strlen(id)::integer, key from {table} where {current} order by {number}

-- name: all_names
select coalesce(string_agg(id, '' order by {number}), '') from {table} where {current}

-- name: edges
select r.eid, r.rid, r.rev as revision, r.src, r.dst, r.weight, r.created_cycle, epoch_us(r.valid_from) as valid_from,
  epoch_us(r.valid_until) as valid_until, r.retired_with, epoch_us(r.created_at) as created_at, epoch_us(r.updated_at) as updated_at,
  (r.metadata::varchar = '{{}}' and r.attributes::varchar = '{{}}') as bare, {codes}
from edge r {joins} where r.known_to is null

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
