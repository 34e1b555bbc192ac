-- Agents, conversations, and what was asked of models.

CREATE TABLE agents (
    name       TEXT PRIMARY KEY NOT NULL,
    body       TEXT NOT NULL,                  -- JSON
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY NOT NULL,
    principal  TEXT NOT NULL,                  -- whose it is
    agent      TEXT NOT NULL,                  -- the one that was last talked to in it
    title      TEXT,
    title_by   INTEGER NOT NULL,               -- 0 nobody, 1 a model, 2 a person
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,               -- when something was last said
    messages   INTEGER NOT NULL,               -- how many: their numbers are 1 to this
    bytes      INTEGER NOT NULL                -- what they take
) STRICT;

CREATE INDEX sessions_by_time ON sessions (updated_ms, id);
CREATE INDEX sessions_by_principal ON sessions (principal, updated_ms, id);

-- From a person's message to the end of the answer.
CREATE TABLE turns (
    id            TEXT PRIMARY KEY NOT NULL,   -- UUIDv7
    session       TEXT NOT NULL,
    answers       INTEGER NOT NULL,            -- the number of the message that it answers
    state         INTEGER NOT NULL,            -- 0 running, 1 done, 2 aborted, 3 failed, 4 interrupted
    replaced      INTEGER NOT NULL,            -- 1: its answer was taken out for another
    started_ms    INTEGER NOT NULL,
    ended_ms      INTEGER,
    code          TEXT,                        -- of a failure
    message       TEXT,                        -- the same in words
    finish        TEXT,                        -- why the model's last answer ended
    rounds        INTEGER NOT NULL,            -- requests to the model
    calls         INTEGER NOT NULL,            -- of tools
    input         INTEGER,                     -- tokens; NULL where not reported
    output        INTEGER,
    cached        INTEGER,
    cache_written INTEGER,
    reasoning     INTEGER,
    cost          REAL,                        -- NULL where a price or a number is not known
    currency      TEXT
) STRICT;

CREATE INDEX turns_by_session ON turns (session, started_ms);
-- Next to nothing: those that run.
CREATE INDEX turns_running ON turns (id) WHERE state = 0;

-- Small columns first, and the text before the parts: a search reads no picture.
CREATE TABLE messages (
    session    TEXT NOT NULL,
    seq        INTEGER NOT NULL,               -- 1, 2, 3 …
    role       INTEGER NOT NULL,               -- 0 a person, 1 a model, 2 results of tools
    cut        INTEGER NOT NULL,               -- 1: it ended before it was whole
    created_ms INTEGER NOT NULL,
    turn       TEXT NOT NULL,
    text       TEXT NOT NULL,                  -- what a search looks through, in small letters
    parts      TEXT NOT NULL,                  -- JSON array
    PRIMARY KEY (session, seq)
) STRICT;

-- The text of answers under way, so that a crash does not lose it.
CREATE TABLE drafts (
    turn TEXT PRIMARY KEY NOT NULL,
    seq  INTEGER NOT NULL,                     -- the number that its message will have
    text TEXT NOT NULL
) STRICT;

-- Each request to a model. They stay when their session goes, without its name.
CREATE TABLE model_requests (
    id             INTEGER PRIMARY KEY,
    started_ms     INTEGER NOT NULL,
    principal      TEXT NOT NULL,
    agent          TEXT NOT NULL,
    provider       TEXT NOT NULL,              -- the model provider's name
    model          TEXT NOT NULL,              -- the model's id there
    session        TEXT,
    turn           TEXT,
    duration_ms    INTEGER NOT NULL,
    first_token_ms INTEGER,                    -- after its start; NULL where none came
    attempts       INTEGER NOT NULL,
    status         INTEGER NOT NULL,           -- 0 answered, 1 failed, 2 given up
    code           TEXT,                       -- of a failure
    input          INTEGER,                    -- tokens; NULL where not reported
    output         INTEGER,
    cached         INTEGER,
    cache_written  INTEGER,
    reasoning      INTEGER,
    cost           REAL,                       -- NULL where a price or a number is not known
    currency       TEXT
) STRICT;

CREATE INDEX model_requests_by_time ON model_requests (started_ms);
-- What a principal spent is read from this alone.
CREATE INDEX model_requests_by_principal ON model_requests (principal, started_ms, currency, cost);
CREATE INDEX model_requests_by_session ON model_requests (session) WHERE session IS NOT NULL;
