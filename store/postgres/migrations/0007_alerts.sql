-- The board of alerts: package alerts. Columns named body are JSON.

-- One row: the version of the board, and the number of the latest notice. Who commits a change holds this row first.
CREATE TABLE alert_board (
    one     integer PRIMARY KEY CHECK (one = 1),
    version bigint NOT NULL,
    seq     bigint NOT NULL
);
INSERT INTO alert_board (one, version, seq) VALUES (1, 0, 0);

CREATE TABLE alerts (
    id    bytea PRIMARY KEY,
    ended bigint NOT NULL, -- When it was resolved; zero until then.
    body  bytea NOT NULL
);
CREATE INDEX alerts_ended ON alerts (ended, id);

CREATE TABLE silences (
    id    bytea PRIMARY KEY,
    ended bigint NOT NULL, -- Until when it mutes, or when it was taken back.
    body  bytea NOT NULL
);
CREATE INDEX silences_ended ON silences (ended, id);

CREATE TABLE alert_notices (
    seq  bigint PRIMARY KEY,
    at   bigint NOT NULL,
    body bytea NOT NULL
);

CREATE TABLE alert_receivers (
    name     bytea PRIMARY KEY,
    holder   bytea NOT NULL,
    token    bigint NOT NULL, -- How often it was claimed.
    until    bigint NOT NULL, -- When the lease of that claim ends.
    position bigint NOT NULL  -- The number of the latest notice that it was told.
);

CREATE TABLE alert_deliveries (
    at       bigint NOT NULL,
    receiver bytea NOT NULL,
    seq      bigint NOT NULL,
    alert    bytea NOT NULL,
    status   bytea NOT NULL,
    detail   bytea NOT NULL,
    PRIMARY KEY (at, receiver, seq)
);
CREATE INDEX alert_deliveries_of ON alert_deliveries (alert, at);
