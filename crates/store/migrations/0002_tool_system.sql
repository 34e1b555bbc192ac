-- What people, hooks and rules do with calls; grants, policy rules, and the specs that sources registered.

-- Calls anew, so that the new small columns stand before the long ones.
CREATE TABLE calls_2 (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL,                 -- the call's UUIDv7
    started_ms  INTEGER NOT NULL,
    status      INTEGER NOT NULL,              -- 0 open, 1 success, 2 error
    code        TEXT,                          -- of an error
    name        TEXT NOT NULL,                 -- as the caller gave it
    source      TEXT,
    tool        TEXT,
    principal   TEXT NOT NULL,
    role        INTEGER NOT NULL,              -- 0 owner, 1 client, 2 device, 3 companion
    door        INTEGER NOT NULL,              -- 0 REST, 1 WebSocket, 2 agent, 3 MCP, 4 local
    agent       TEXT,
    session     TEXT,                          -- the conversation
    turn        TEXT,                          -- the model's answer within it
    approved_by TEXT,                          -- a principal, or grant:<id>
    notes       TEXT,                          -- JSON: the hooks that acted, the rule that refused
    key         TEXT,                          -- idempotency key, and what it was used for
    key_hash    BLOB,
    total_us    INTEGER NOT NULL,
    waiting_us  INTEGER NOT NULL,
    queued_us   INTEGER NOT NULL,
    running_us  INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    arguments   TEXT,                          -- JSON, secrets already replaced
    ran_with    TEXT,                          -- the same as hooks changed them
    outcome     TEXT                           -- the envelope as JSON
) STRICT;

INSERT INTO calls_2 (seq, id, started_ms, status, code, name, source, tool, principal, role, door, agent, key,
    key_hash, total_us, waiting_us, queued_us, running_us, attempts, arguments, outcome)
SELECT seq, id, started_ms, status, code, name, source, tool, principal, role, door, agent, key,
    key_hash, total_us, waiting_us, queued_us, running_us, attempts, arguments, outcome
FROM calls ORDER BY seq;

DROP TABLE calls;
ALTER TABLE calls_2 RENAME TO calls;

-- Ids and times grow, so these two are appended to.
CREATE UNIQUE INDEX calls_by_id ON calls (id);
CREATE INDEX calls_by_start ON calls (started_ms);
-- These hold only what there is of them: calls that carry a key, calls in flight. Conversations have none: nearly
-- every call has one, and a page of its calls is looked for in steps.
CREATE INDEX calls_by_key ON calls (principal, key) WHERE key IS NOT NULL;
CREATE INDEX calls_open ON calls (started_ms) WHERE status = 0;

-- Answers of people that are kept. A revoked one stays for a while, since records of calls name it.
CREATE TABLE grants (
    id         TEXT PRIMARY KEY NOT NULL,      -- UUIDv7
    kind       TEXT NOT NULL,                  -- permission, approval
    permission TEXT,                           -- which, of the kind permission
    source     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    principal  TEXT,                           -- whose calls; NULL: anybody's
    agent      TEXT,                           -- in whose name; NULL: anybody's
    decision   TEXT NOT NULL,                  -- granted, denied_always
    created_ms INTEGER NOT NULL,
    created_by TEXT NOT NULL,                  -- the principal that answered
    expires_ms INTEGER,
    revoked_ms INTEGER
) STRICT;

-- Policy rules that were made over the network; those of the settings are not here.
CREATE TABLE rules (
    name       TEXT PRIMARY KEY NOT NULL,
    position   INTEGER NOT NULL,               -- 0, 1, 2 …: the order in which they are tried
    body       TEXT NOT NULL,                  -- JSON
    created_ms INTEGER NOT NULL
) STRICT;

-- Specs as they were registered, each once.
CREATE TABLE spec_documents (
    fingerprint BLOB PRIMARY KEY NOT NULL,     -- SHA-256
    document    TEXT NOT NULL
) STRICT;

-- Which of them a tool has, and which the owner has let pass.
CREATE TABLE tool_specs (
    source     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    approved   BLOB NOT NULL,
    current    BLOB NOT NULL,
    changed_ms INTEGER,                        -- since when they differ
    PRIMARY KEY (source, tool)
) STRICT, WITHOUT ROWID;
