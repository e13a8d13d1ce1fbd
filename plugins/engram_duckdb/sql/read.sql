-- name: records
select r.rid, r.mid, m.collection, m.id, epoch_us(m.created_at), r.kind, c.text, c.title, r.status, r.priority, r.confidence, r.origin,
  r.source, r.pinned, r.confirmations, r.created_cycle, r.updated_cycle, epoch_us(r.valid_from), epoch_us(r.valid_until),
  epoch_us(r.expires_at), r.metadata::varchar, r.attributes::varchar, epoch_us(r.updated_at), r.rev, r.state, r.superseded_by, c.hash
from revision r join memory m on m.mid = r.mid join content c on c.cid = r.cid

-- name: revisions
select rid, mid, cid, kind, status, priority, confidence, origin, source, pinned, confirmations, created_cycle, updated_cycle,
  epoch_us(valid_from), epoch_us(valid_until), epoch_us(expires_at), metadata::varchar, attributes::varchar, epoch_us(updated_at), rev,
  state, superseded_by
from revision where rid {those}

-- name: contents
select cid, text, title, hash from content where cid {those}

-- name: edge_records
select e.rid, e.eid, e.id, s.collection, s.id, t.collection, t.id, e.type, e.weight, e.origin, e.created_cycle, epoch_us(e.valid_from),
  epoch_us(e.valid_until), e.metadata::varchar, e.attributes::varchar, epoch_us(e.created_at), epoch_us(e.updated_at), e.rev, e.state
from edge e join memory s on s.mid = e.src join memory t on t.mid = e.dst

-- name: edge_documents
select rid, metadata::varchar, attributes::varchar from edge where rid in (select unnest(?::bigint[]))

-- name: history_of
select rid from revision where mid in (select unnest(?::bigint[])) order by mid, rev

-- name: last_living_end
select epoch_us(valid_until) from revision where mid = ? and state = 'live' order by rev desc limit 1

-- name: events
select seq, operation, epoch_us(at_utc), actor, payload, prev, hash from oplog where seq > ? and seq <= ? order by seq

-- name: event_sizes
select seq, strlen(payload) from oplog where seq > ? order by seq limit ?

-- name: recorded
select reference, seq, result from oplog where reference in (select unnest(?::varchar[]))

-- name: changed
select distinct seq, mid from revision where fresh and seq > ? order by seq, mid limit ?

-- name: changed_within
select distinct seq, mid from revision where fresh and seq = ? order by mid

-- name: vectors
select mid, cid, vector from embedding where model = ? and mid in (select unnest(?::bigint[]))
