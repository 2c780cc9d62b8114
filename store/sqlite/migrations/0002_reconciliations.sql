-- Reports of reconciliations. Ids sort by the time of creation. head and rows are written by store/internal/rowcodec: head is JSON, rows
-- compressed JSON, read only where all of a report is asked for.
CREATE TABLE reconciliations (
    id   TEXT PRIMARY KEY,
    slot TEXT NOT NULL UNIQUE,
    head BLOB NOT NULL,
    rows BLOB NOT NULL
);
