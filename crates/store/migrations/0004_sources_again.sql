-- A device that was removed and comes back is another source, of the same identity. Only the slug stays spent.

DROP INDEX sources_by_identity;
CREATE UNIQUE INDEX sources_by_identity ON sources (token_id, identity_key) WHERE removed_ms IS NULL;
