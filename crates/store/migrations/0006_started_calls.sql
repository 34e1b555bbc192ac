-- Starts of calls that were running when their batch of records was written, many in one row. A call gets its row in
-- `calls` when it ends. Rows may also contain calls that have one already: a slot is overwritten, not emptied.
CREATE TABLE started_calls (
    slot  INTEGER PRIMARY KEY,
    calls TEXT NOT NULL                        -- JSON array
) STRICT;
