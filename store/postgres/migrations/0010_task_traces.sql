-- Tasks whose end is told to a receiver of traces: lifecycle.TraceQueue.
CREATE TABLE task_traces (
    task       bigint PRIMARY KEY,
    generation bigint NOT NULL, -- Of the latest message that ended.
    told       bigint NOT NULL, -- Of the latest message whose end was told; -1 for none.
    due        bigint NOT NULL  -- When it may be told; zero where there is nothing to tell.
);
CREATE INDEX task_traces_due ON task_traces (due, task) WHERE due > 0;

-- One row: who tells.
CREATE TABLE task_trace_teller (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    holder bytea NOT NULL,
    token  bigint NOT NULL, -- Rises with each new holder.
    until  bigint NOT NULL  -- When its turn ends.
);
INSERT INTO task_trace_teller (one, holder, token, until) VALUES (1, '', 0, 0);
