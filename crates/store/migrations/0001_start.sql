-- Tokens, sources and call records.
-- Times are milliseconds since the Unix epoch, durations microseconds.

CREATE TABLE tokens (
    id           TEXT PRIMARY KEY NOT NULL,
    hash         BLOB NOT NULL,                -- SHA-256 of the token's text; the text is kept nowhere
    role         TEXT NOT NULL,
    label        TEXT NOT NULL,
    agent        TEXT,
    device_id    TEXT,
    device_name  TEXT,
    platform     TEXT,
    created_ms   INTEGER NOT NULL,
    expires_ms   INTEGER,
    revoked_ms   INTEGER,
    last_used_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX tokens_by_hash ON tokens (hash);

-- A removed source keeps its row, so that its slug is never given to another.
CREATE TABLE sources (
    slug         TEXT PRIMARY KEY NOT NULL,
    token_id     TEXT NOT NULL,
    identity_key TEXT NOT NULL,
    kind         TEXT NOT NULL,
    label        TEXT NOT NULL,
    platform     TEXT,
    app_version  TEXT,
    created_ms   INTEGER NOT NULL,
    last_seen_ms INTEGER NOT NULL,
    tools        TEXT NOT NULL,                -- JSON array of names, as last registered
    removed_ms   INTEGER
) STRICT;

CREATE UNIQUE INDEX sources_by_identity ON sources (token_id, identity_key);

-- Small columns first: a filter that reads many rows need not touch the long ones.
CREATE TABLE calls (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL,                  -- the call's UUIDv7
    started_ms INTEGER NOT NULL,
    status     INTEGER NOT NULL,               -- 0 open, 1 success, 2 error
    code       TEXT,                           -- of an error
    name       TEXT NOT NULL,                  -- as the caller gave it
    source     TEXT,
    tool       TEXT,
    principal  TEXT NOT NULL,
    role       INTEGER NOT NULL,               -- 0 owner, 1 client, 2 device, 3 companion
    door       INTEGER NOT NULL,               -- 0 REST, 1 WebSocket, 2 agent, 3 MCP, 4 local
    agent      TEXT,
    key        TEXT,                           -- idempotency key, and what it was used for
    key_hash   BLOB,
    total_us   INTEGER NOT NULL,
    waiting_us INTEGER NOT NULL,
    queued_us  INTEGER NOT NULL,
    running_us INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    arguments  TEXT,                           -- JSON, secrets already replaced
    outcome    TEXT                            -- the envelope as JSON
) STRICT;

-- Ids and times grow, so these two are appended to.
CREATE UNIQUE INDEX calls_by_id ON calls (id);
CREATE INDEX calls_by_start ON calls (started_ms);
-- These two hold next to nothing: calls that carry a key, and calls in flight.
CREATE INDEX calls_by_key ON calls (principal, key) WHERE key IS NOT NULL;
CREATE INDEX calls_open ON calls (started_ms) WHERE status = 0;
