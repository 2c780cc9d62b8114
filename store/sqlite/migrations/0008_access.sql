-- Tokens that were made while the program runs, and people who signed in. Only hashes of secrets are here.
CREATE TABLE tokens (
    id        TEXT PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    sha256    TEXT NOT NULL UNIQUE,
    role      TEXT NOT NULL,
    scopes    TEXT NOT NULL, -- With spaces in between.
    expires   INTEGER NOT NULL, -- Zero for never.
    creator   TEXT NOT NULL,
    created   INTEGER NOT NULL,
    last_used INTEGER NOT NULL -- Zero for never.
) WITHOUT ROWID;

CREATE TABLE sessions (
    id     TEXT PRIMARY KEY, -- Hash of the cookie.
    name   TEXT NOT NULL,
    token  TEXT NOT NULL, -- Hash of the token that it began with; empty for none.
    scopes TEXT NOT NULL,
    until  INTEGER NOT NULL
) WITHOUT ROWID;
