//go:build linux

package torture

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// line is one thing that the fleet did, as its journal has it. What is one of the demonstration's notes, or one of those below.
type line struct {
	At      time.Time
	Task    string `json:",omitempty"`
	Agent   string `json:",omitempty"`
	Fate    string `json:",omitempty"`
	What    string
	Attempt int    `json:",omitempty"`
	Number  uint64 `json:",omitempty"` // Of the delivery among its consumer's.
	Seq     uint64 `json:",omitempty"`
	Kind    string `json:",omitempty"` // Of a report.
	Cost    int64  `json:",omitempty"` // That a report names, in millionths of a USD.
	Error   string `json:",omitempty"`
}

// What else the journal tells.
const (
	whatReported = "reported" // The broker stored a report.
	whatFailed   = "failed"   // A publish was not answered: nobody knows whether it was stored.
	whatDone     = "done"     // Nothing more is going to happen.
	whatStuck    = "stuck"    // Nothing has happened for long, although tasks are open.
)

// journal writes lines to a file, each handed to the system before anything else happens.
type journal struct {
	mu   sync.Mutex
	file *os.File
	last time.Time
}

func createJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &journal{file: f, last: time.Now()}, nil
}

// write adds a line. A journal that cannot be written ends the process: without the truth there is nothing to compare.
func (j *journal) write(l line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l.At = time.Now()
	j.last = l.At
	text, err := json.Marshal(l)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write journal:", err)
		os.Exit(1)
	}
}

// quiet is how long nothing was written.
func (j *journal) quiet() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Since(j.last)
}

// sync makes everything durable.
func (j *journal) sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Sync()
}

// readJournal reads the complete lines of a journal, which may still be written.
func readJournal(path string) ([]line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // Read only.
	var lines []line
	for r := bufio.NewReader(f); ; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("journal line %q: %w", text, err)
		}
		lines = append(lines, l)
	}
}
