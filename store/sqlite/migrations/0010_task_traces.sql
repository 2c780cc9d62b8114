-- Tasks whose end is told to a receiver of traces: lifecycle.TraceQueue.
CREATE TABLE task_traces (
    task       INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL, -- Of the latest message that ended.
    told       INTEGER NOT NULL, -- Of the latest message whose end was told; -1 for none.
    due        INTEGER NOT NULL  -- When it may be told; zero where there is nothing to tell.
);
CREATE INDEX task_traces_due ON task_traces (due, task) WHERE due > 0;

-- One row: who tells.
CREATE TABLE task_trace_teller (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    holder TEXT NOT NULL,
    token  INTEGER NOT NULL, -- Rises with each new holder.
    until  INTEGER NOT NULL  -- When its turn ends.
);
INSERT INTO task_trace_teller (one, holder, token, until) VALUES (1, '', 0, 0);
