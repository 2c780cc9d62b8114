-- The board of alerts: package alerts. Columns named body are JSON.

-- One row: the version of the board, and the number of the latest notice. Who commits a change holds this row first.
CREATE TABLE alert_board (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL,
    seq     INTEGER NOT NULL
);
INSERT INTO alert_board (one, version, seq) VALUES (1, 0, 0);

CREATE TABLE alerts (
    id    TEXT PRIMARY KEY,
    ended INTEGER NOT NULL, -- When it was resolved; zero until then.
    body  BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX alerts_ended ON alerts (ended, id);

CREATE TABLE silences (
    id    TEXT PRIMARY KEY,
    ended INTEGER NOT NULL, -- Until when it mutes, or when it was taken back.
    body  BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX silences_ended ON silences (ended, id);

CREATE TABLE alert_notices (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE alert_receivers (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    token    INTEGER NOT NULL, -- How often it was claimed.
    until    INTEGER NOT NULL, -- When the lease of that claim ends.
    position INTEGER NOT NULL  -- The number of the latest notice that it was told.
) WITHOUT ROWID;

CREATE TABLE alert_deliveries (
    at       INTEGER NOT NULL,
    receiver TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    alert    TEXT NOT NULL,
    status   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    PRIMARY KEY (at, receiver, seq)
) WITHOUT ROWID;
CREATE INDEX alert_deliveries_of ON alert_deliveries (alert, at);
