package main

import (
	"bytes"
	"os"
)

// followedFile is a file that is looked at again and again while the program runs. A change counts when it has been there for two looks, so
// that a file that is being written is not read by half.
type followedFile struct {
	name string
	seen []byte // What the last look found.
	used []byte // What is in use; whoever takes a change sets it.
}

// fileNews is what a look at a followed file found.
type fileNews int

const (
	fileSettling fileNews = iota // It may be in the middle of being written: look again.
	fileUnread                   // It cannot be read.
	fileSame                     // It holds what is in use.
	fileChanged                  // It holds something else.
)

// look reads the file: a change counts at once, or only when the look before found the same.
func (f *followedFile) look(atOnce bool) (news fileNews, text []byte, err error) {
	if text, err = os.ReadFile(f.name); err != nil {
		text = nil
	}
	settled := bytes.Equal(text, f.seen)
	f.seen = text
	switch {
	case !settled && !atOnce:
		return fileSettling, nil, nil
	case err != nil:
		return fileUnread, nil, err
	case bytes.Equal(text, f.used):
		return fileSame, text, nil
	}
	return fileChanged, text, nil
}
