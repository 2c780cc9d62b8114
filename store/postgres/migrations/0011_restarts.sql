-- What went away with messages in hand: package restarts. body is JSON.
CREATE TABLE restarts (
    id      bytea PRIMARY KEY,
    version bigint NOT NULL, -- How often it was stored.
    at      bigint NOT NULL, -- When it was there again, or had gone away at the latest.
    ended   bigint NOT NULL, -- When it was known what became of every message; zero until then.
    body    bytea NOT NULL
);
CREATE INDEX restarts_at ON restarts (at, id);
CREATE INDEX restarts_open ON restarts (at, id) WHERE ended = 0;
