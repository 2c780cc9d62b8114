-- Reports of reconciliations. Ids sort by the time of creation. head and rows are written by store/internal/rowcodec: head is JSON, rows
-- compressed JSON, read only where all of a report is asked for.
CREATE TABLE reconciliations (
    id   bytea PRIMARY KEY,
    slot bytea NOT NULL UNIQUE, -- Shortened with a digest where it is long.
    head bytea NOT NULL,
    rows bytea NOT NULL
);
