-- What went away with messages in hand: package restarts. body is JSON.
CREATE TABLE restarts (
    id      TEXT PRIMARY KEY,
    version INTEGER NOT NULL, -- How often it was stored.
    at      INTEGER NOT NULL, -- When it was there again, or had gone away at the latest.
    ended   INTEGER NOT NULL, -- When it was known what became of every message; zero until then.
    body    BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX restarts_at ON restarts (at, id);
CREATE INDEX restarts_open ON restarts (at, id) WHERE ended = 0;
