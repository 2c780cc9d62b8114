package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
)

// File is one migration.
type File struct {
	Number   int    // From 1, without holes.
	Name     string // Lower-case letters, digits and underscores.
	SQL      string
	Checksum string // SHA-256 of SQL, hex.
}

var fileName = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.sql$`)

// Read reads the migrations in directory dir of fsys, which is usually embedded. Files are named 0001_what_it_does.sql and are
// numbered from 1 without holes; anything else there is an error.
func Read(fsys fs.FS, dir string) ([]File, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	files := make([]File, 0, len(entries))
	for i, entry := range entries {
		parts := fileName.FindStringSubmatch(entry.Name())
		if parts == nil {
			return nil, fmt.Errorf("read migrations: %s is not named like 0001_what_it_does.sql", entry.Name())
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("read migrations: %s has number %d, want %d", entry.Name(), number, i+1)
		}
		text, err := fs.ReadFile(fsys, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		sum := sha256.Sum256(text)
		files = append(files, File{Number: number, Name: parts[2], SQL: string(text), Checksum: hex.EncodeToString(sum[:])})
	}
	return files, nil
}
