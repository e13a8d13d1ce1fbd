-- name: chain
select e.seq from oplog e left join (select seq, hash from oplog) p on p.seq = e.seq - 1
where sha256(e.prev || '|' || epoch_us(e.at_utc)::varchar || '|' || sha256(e.actor) || '|' || e.payload) <> e.hash
  or e.prev <> coalesce(p.hash, repeat('0', 64)) or (p.seq is null and e.seq <> 1)
order by e.seq limit 10

-- name: contents
select m.collection, m.id, 'the text or title does not match its stored hash' as fault
from content c left join memory m on m.mid = c.mid
where sha256(c.text) <> c.hash or sha256(c.title) <> c.title_hash
union all
select m.collection, m.id, 'the metadata or attributes are not a JSON object'
from revision r join memory m on m.mid = r.mid
where r.known_to is null and (coalesce(try(json_type(r.metadata)), '') <> 'OBJECT' or coalesce(try(json_type(r.attributes)), '') <> 'OBJECT')
union all
select m.collection, m.id, 'the newest revision is missing, doubled or without its text, or a look-up key is wrong'
from memory m left join (
  select r.mid, count(*) as heads, count(c.cid) filter (r.print = signed(coalesce(try_cast('0x' || c.hash[1:16] as ubigint), 0))) as texts
  from revision r left join content c on c.cid = r.cid
  where r.known_to is null group by r.mid) h on h.mid = m.mid
where coalesce(h.heads, 0) <> 1 or h.texts <> 1 or m.key <> signed(md5_number_lower(m.id))
limit 100

-- name: edges
select e.id, 'an end is missing or the look-up key is wrong' as fault from edge e left join memory s on s.mid = e.src left join memory t on t.mid = e.dst
where e.known_to is null and (s.mid is null or t.mid is null or e.key <> signed(md5_number_lower(e.id)))
union all
select e.id, 'the metadata or attributes are not a JSON object' from edge e
where e.known_to is null and (coalesce(try(json_type(e.metadata)), '') <> 'OBJECT' or coalesce(try(json_type(e.attributes)), '') <> 'OBJECT')
limit 100

-- name: counts
select (select count(*) from oplog), (select count(*) from revision where known_to is null and state = 'live'),
  (select count(*) from edge where known_to is null and state = 'live')

-- name: event_hash
select hash from oplog where seq = ?

-- name: current_edges
select e.eid, e.id, e.rev, e.state, e.src, e.dst, e.type, e.weight, e.origin, e.created_cycle, epoch_us(e.created_at),
  epoch_us(e.valid_from), epoch_us(e.valid_until), e.metadata::varchar, e.attributes::varchar
from edge e where e.known_to is null and e.eid > ? and e.eid <= ?

-- name: current_cards
select kind, collection, id, rev, body::varchar from card where known_to is null

-- name: current_vectors
select mid, model, sha256(vector) from embedding where mid > ? and mid <= ?
