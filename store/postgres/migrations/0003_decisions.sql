-- What was decided, who decided it, and what follows from it: package decision. All of a decision is written in one transaction, together
-- with its events. Columns named body, result, before, after and reply are in the form of whoever gave them. Who decides holds the row of
-- the subject first, before anything that appends take.

CREATE TABLE subjects (
    subject  bytea  PRIMARY KEY,
    revision bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE decisions (
    id       bytea  PRIMARY KEY,
    subject  bytea  NOT NULL,
    revision bigint NOT NULL, -- Of the subject, after the decision.
    at       bigint NOT NULL
);
CREATE INDEX decisions_by_time ON decisions (at);

CREATE TABLE actions (
    id        bytea   PRIMARY KEY,
    subject   bytea   NOT NULL,
    kind      bytea   NOT NULL,
    operation bytea   NOT NULL, -- Empty for none.
    open      boolean NOT NULL,
    created   bigint  NOT NULL,
    updated   bigint  NOT NULL,
    body      bytea   NOT NULL
);
CREATE UNIQUE INDEX actions_open ON actions (subject) WHERE open;
CREATE INDEX actions_of_subject ON actions (subject, created, id);
CREATE INDEX actions_of_operation ON actions (operation, id) WHERE operation <> '';
CREATE INDEX actions_ended ON actions (updated) WHERE NOT open;

CREATE TABLE effects (
    id      bytea  PRIMARY KEY,
    queue   bytea  NOT NULL,
    subject bytea  NOT NULL,
    action  bytea  NOT NULL, -- Empty for none.
    due     bigint NOT NULL,
    ready   bigint NOT NULL, -- From when it may be claimed: when it is due, or when the lease of the last claim ends.
    status  text   NOT NULL,
    holder  bytea  NOT NULL,
    token   bigint NOT NULL, -- How often it was claimed.
    settled bigint NOT NULL, -- When; zero until then.
    result  bytea  NOT NULL,
    body    bytea  NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX effects_ready ON effects (queue, ready, id) WHERE settled = 0;
CREATE INDEX effects_of_action ON effects (action, due, id) WHERE action <> '';
CREATE INDEX effects_settled ON effects (settled) WHERE settled <> 0;

-- Rows are only ever added.
CREATE TABLE audit (
    id      bytea  PRIMARY KEY,
    at      bigint NOT NULL,
    actor   bytea  NOT NULL,
    role    bytea  NOT NULL,
    token   bytea  NOT NULL,
    via     bytea  NOT NULL,
    action  bytea  NOT NULL,
    target  bytea  NOT NULL,
    outcome text   NOT NULL,
    reason  bytea  NOT NULL,
    before  bytea  NOT NULL,
    after   bytea  NOT NULL,
    request bytea  NOT NULL
);
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX audit_by_actor ON audit (actor, at, id);
CREATE INDEX audit_by_action ON audit (action, at, id);

CREATE TABLE request_keys (
    key         bytea  PRIMARY KEY,
    fingerprint bytea  NOT NULL,
    token       bigint NOT NULL, -- How often it was reserved.
    reserved    bigint NOT NULL,
    until       bigint NOT NULL, -- When the reservation ends; zero when the request was completed.
    reply       bytea  NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX request_keys_by_time ON request_keys (reserved);
