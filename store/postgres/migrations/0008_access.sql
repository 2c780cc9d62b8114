-- Tokens that were made while the program runs, and people who signed in. Only hashes of secrets are here.
CREATE TABLE tokens (
    id        bytea PRIMARY KEY,
    name      bytea NOT NULL UNIQUE,
    sha256    bytea NOT NULL UNIQUE,
    role      bytea NOT NULL,
    scopes    bytea NOT NULL, -- With spaces in between.
    expires   bigint NOT NULL, -- Zero for never.
    creator   bytea NOT NULL,
    created   bigint NOT NULL,
    last_used bigint NOT NULL -- Zero for never.
);

CREATE TABLE sessions (
    id     bytea PRIMARY KEY, -- Hash of the cookie.
    name   bytea NOT NULL,
    token  bytea NOT NULL, -- Hash of the token that it began with; empty for none.
    scopes bytea NOT NULL,
    until  bigint NOT NULL
);
