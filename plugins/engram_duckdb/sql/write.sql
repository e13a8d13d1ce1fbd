-- name: close_revisions
update revision set known_to = make_timestamp(?::bigint) where rid in (select unnest(?::bigint[]))

-- name: close_edges
update edge set known_to = make_timestamp(?::bigint) where rid in (select unnest(?::bigint[]))

-- name: close_card
update card set known_to = make_timestamp(?::bigint) where kind = ? and collection = ? and id = ? and known_to is null

-- name: drop_vectors
delete from embedding where model = ? and mid in (select unnest(?::bigint[]))

-- name: usage
insert or replace into usage select unnest(?::bigint[]), unnest(?::bigint[]), make_timestamp(unnest(?::bigint[]))
