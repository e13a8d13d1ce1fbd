-- Every time stamp is UTC. Rows of content, revision, edge, card and oplog are only ever inserted; known_to alone is set later.
create table meta (k varchar primary key, v varchar not null);

create table memory (                       -- identity; one row for ever
  mid         bigint primary key,           -- grows with time
  collection  varchar not null,
  id          varchar not null,
  created_at  timestamp not null,
  root_mid    bigint not null,              -- first memory of the supersede chain
  key         bigint not null               -- lower half of md5(id): spares hashing all ids at open
);

create table content (                      -- text, written only when title or text change
  cid         bigint primary key,
  mid         bigint not null,
  title       varchar not null,
  text        varchar not null,
  title_hash  varchar not null,             -- sha256, hex, of the UTF-8 bytes
  hash        varchar not null
);

create table revision (
  rid           bigint primary key,
  mid           bigint not null,
  rev           bigint not null,
  seq           bigint not null,            -- the oplog event that made it
  cid           bigint not null,
  print         bigint not null,            -- first 64 bits of the content's hash
  fresh         boolean not null,           -- content or state differ from the revision before
  kind          varchar not null,
  status        varchar not null,
  priority      bigint,
  confidence    double,
  origin        varchar not null,
  source        varchar,
  pinned        boolean not null,
  confirmations bigint not null,
  created_cycle bigint not null,
  updated_cycle bigint not null,
  valid_from    timestamp,
  valid_until   timestamp,
  expires_at    timestamp,
  state         varchar not null,
  superseded_by varchar,
  metadata      json not null,
  attributes    json not null,
  updated_at    timestamp not null,
  known_from    timestamp not null,
  known_to      timestamp                   -- null: current knowledge
);
create index revision_mid on revision (mid);

create table edge (
  rid           bigint primary key,
  eid           bigint not null,
  rev           bigint not null,
  seq           bigint not null,
  id            varchar not null,
  key           bigint not null,            -- as in memory
  src           bigint not null,
  dst           bigint not null,
  type          varchar not null,
  weight        double not null,
  origin        varchar not null,
  created_cycle bigint not null,
  valid_from    timestamp,
  valid_until   timestamp,
  state         varchar not null,
  retired_with  bigint not null,            -- the memory whose retirement took it along, or 0
  metadata      json not null,
  attributes    json not null,
  created_at    timestamp not null,
  updated_at    timestamp not null,
  known_from    timestamp not null,
  known_to      timestamp
);

create table card (
  kind        varchar not null,
  collection  varchar not null,
  id          varchar not null,
  rev         bigint not null,
  seq         bigint not null,
  body        json,                         -- null: retired
  known_from  timestamp not null,
  known_to    timestamp
);

create table embedding_model (model bigint primary key, name varchar not null unique, dimension bigint not null);
create table embedding (
  mid     bigint not null,
  model   bigint not null,
  cid     bigint not null,                  -- the content the vector was made of
  vector  blob not null,                    -- little-endian float32
  primary key (mid, model)
);

create table usage (mid bigint primary key, count bigint not null, last_at timestamp not null);

create table oplog (                        -- hash = sha256(prev | microseconds | sha256(actor) | payload), all as text
  seq        bigint primary key,
  reference  varchar unique,
  operation  varchar not null,
  at_utc     timestamp not null,
  actor      varchar not null,
  payload    varchar not null,              -- canonical JSON with hashes in place of texts
  result     varchar not null,
  prev       varchar not null,
  hash       varchar not null
);

create macro signed(u) as (case when u >= 9223372036854775808 then (u::hugeint - 18446744073709551616)::bigint else u::bigint end);
