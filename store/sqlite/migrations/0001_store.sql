-- Times are microseconds since 1970, UTC; zero is "not known". Columns named facts, summary, body and headers are in the form of
-- store/internal/rowcodec. Sequences from 2^63 on are kept as negative numbers, event ids with their top bit flipped.

CREATE TABLE streams (
    id      INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    domain  TEXT NOT NULL,
    name    TEXT NOT NULL,
    epoch   INTEGER NOT NULL,
    UNIQUE (account, domain, name, epoch)
);

-- Ids rise with the time at which a task was first seen, so that its rows and those of its events lie together at the end.
CREATE TABLE tasks (
    id         INTEGER PRIMARY KEY,
    task_id    TEXT NOT NULL UNIQUE,
    listed     INTEGER NOT NULL,
    attempted  INTEGER NOT NULL, -- 1 where only publish attempts are known.
    state      TEXT NOT NULL,
    agent      TEXT NOT NULL,
    type       TEXT NOT NULL,
    category   TEXT NOT NULL,
    stream     INTEGER NOT NULL, -- Of the newest message, with seq; zero where none is known.
    seq        INTEGER NOT NULL,
    last_event INTEGER NOT NULL,
    published  INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    anomalies  TEXT NOT NULL, -- ",code,code,", or empty.
    words      BLOB NOT NULL, -- What a search looks through beside task_id, in lower case, parts cut by byte 255.
    summary    BLOB NOT NULL,
    facts      BLOB NOT NULL
);
CREATE INDEX tasks_by_event ON tasks (last_event) WHERE listed = 1;
CREATE INDEX tasks_by_state ON tasks (state, last_event) WHERE listed = 1;
CREATE INDEX tasks_by_agent ON tasks (agent, last_event) WHERE listed = 1;
CREATE INDEX tasks_by_published ON tasks (published) WHERE listed = 1;
CREATE INDEX tasks_unlisted ON tasks (last_event) WHERE listed = 0;

CREATE TABLE messages (
    stream     INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    task       INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    facts      BLOB NOT NULL,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;
CREATE INDEX messages_of_task ON messages (task, generation);
CREATE INDEX messages_open ON messages (stream, seq) WHERE open = 1;

-- Some events of a task, one after the other, in the order of time and id, compressed. Chunks of a task do not overlap.
CREATE TABLE events (
    task  INTEGER NOT NULL,
    at    INTEGER NOT NULL, -- Of the last event, with id.
    id    INTEGER NOT NULL,
    chunk BLOB NOT NULL,
    PRIMARY KEY (task, at, id)
) WITHOUT ROWID;

CREATE TABLE payloads (
    id        INTEGER PRIMARY KEY,
    stream    INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    headers   BLOB NOT NULL,
    body      BLOB NOT NULL,
    UNIQUE (stream, seq)
);

CREATE TABLE rollups (
    metric TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    agent  TEXT NOT NULL,
    label  TEXT NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (metric, bucket, agent, label)
) WITHOUT ROWID;

CREATE TABLE quarantine (
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    source     TEXT NOT NULL,
    source_seq INTEGER NOT NULL,
    subject    TEXT NOT NULL,
    headers    BLOB NOT NULL,
    body       BLOB NOT NULL,
    reason     TEXT NOT NULL
);
CREATE INDEX quarantine_by_time ON quarantine (at);

CREATE TABLE gaps (
    source   TEXT NOT NULL,
    since    INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq   INTEGER NOT NULL,
    reason   TEXT NOT NULL,
    repaired INTEGER NOT NULL,
    PRIMARY KEY (since, source)
) WITHOUT ROWID;

CREATE TABLE consumers (
    stream   INTEGER NOT NULL,
    name     TEXT NOT NULL,
    observed INTEGER NOT NULL,
    state    BLOB NOT NULL, -- encoding/gob.
    PRIMARY KEY (stream, name)
) WITHOUT ROWID;

CREATE TABLE watermarks (
    source   TEXT PRIMARY KEY,
    position TEXT NOT NULL
) WITHOUT ROWID;
