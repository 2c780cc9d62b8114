-- What was decided, who decided it, and what follows from it: package decision. All of a decision is written in one transaction, together
-- with its events. Columns named body, result, before, after and reply are in the form of whoever gave them.

CREATE TABLE subjects (
    subject  TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE decisions (
    id       TEXT PRIMARY KEY,
    subject  TEXT NOT NULL,
    revision INTEGER NOT NULL, -- Of the subject, after the decision.
    at       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX decisions_by_time ON decisions (at);

CREATE TABLE actions (
    id        TEXT PRIMARY KEY,
    subject   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    operation TEXT NOT NULL, -- Empty for none.
    open      INTEGER NOT NULL,
    created   INTEGER NOT NULL,
    updated   INTEGER NOT NULL,
    body      BLOB NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX actions_open ON actions (subject) WHERE open = 1;
CREATE INDEX actions_of_subject ON actions (subject, created, id);
CREATE INDEX actions_of_operation ON actions (operation, id) WHERE operation <> '';
CREATE INDEX actions_ended ON actions (updated) WHERE open = 0;

CREATE TABLE effects (
    id      TEXT PRIMARY KEY,
    queue   TEXT NOT NULL,
    subject TEXT NOT NULL,
    action  TEXT NOT NULL, -- Empty for none.
    due     INTEGER NOT NULL,
    ready   INTEGER NOT NULL, -- From when it may be claimed: when it is due, or when the lease of the last claim ends.
    status  TEXT NOT NULL,
    holder  TEXT NOT NULL,
    token   INTEGER NOT NULL, -- How often it was claimed.
    settled INTEGER NOT NULL, -- When; zero until then.
    result  BLOB NOT NULL,
    body    BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX effects_ready ON effects (queue, ready, id) WHERE settled = 0;
CREATE INDEX effects_of_action ON effects (action, due, id) WHERE action <> '';
CREATE INDEX effects_settled ON effects (settled) WHERE settled <> 0;

-- Rows are only ever added.
CREATE TABLE audit (
    id      TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    role    TEXT NOT NULL,
    token   TEXT NOT NULL,
    via     TEXT NOT NULL,
    action  TEXT NOT NULL,
    target  TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason  TEXT NOT NULL,
    before  BLOB NOT NULL,
    after   BLOB NOT NULL,
    request TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX audit_by_actor ON audit (actor, at, id);
CREATE INDEX audit_by_action ON audit (action, at, id);

CREATE TABLE request_keys (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    token       INTEGER NOT NULL, -- How often it was reserved.
    reserved    INTEGER NOT NULL,
    until       INTEGER NOT NULL, -- When the reservation ends; zero when the request was completed.
    reply       BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX request_keys_by_time ON request_keys (reserved);
