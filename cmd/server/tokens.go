package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"fleetglass/access"
	"fleetglass/internal/health"
)

// tokensEvery is how often the tokens file is looked at. A change counts after two looks, so what goes on with a token ends within three of
// these.
const tokensEvery = time.Second

// tokensFile follows the file of hashed tokens. While the file cannot be used, the tokens that were valid before stay valid.
type tokensFile struct {
	file   followedFile
	tokens *access.Tokens
	log    *slog.Logger
	again  chan struct{} // Asks for a look at once.

	mu   sync.Mutex
	part health.Part
}

// openTokens reads the tokens of the settings and of their file, which is followed from then on. It errors when the file cannot be used: a
// start without the tokens that somebody configured would be a surprise.
func (a *App) openTokens(cfg Config, now func() time.Time) (err error) {
	if !cfg.Authenticated() {
		a.tokens = access.Unprotected()
		return nil
	}
	settings := access.Config{Token: cfg.Token.Reveal(), Now: now}
	var text []byte
	if cfg.TokensFile != "" {
		if text, settings.Tokens, err = readTokens(cfg.TokensFile); err != nil {
			return err
		}
	}
	if a.tokens, err = access.NewTokens(settings); err != nil || text == nil {
		return err
	}
	a.follow = &tokensFile{
		file:   followedFile{name: cfg.TokensFile, seen: text, used: text},
		tokens: a.tokens, log: a.log, again: make(chan struct{}, 1),
		part: health.Part{Name: "tokens", Kind: "access", State: health.OK},
	}
	a.watch(a.follow)
	a.work("tokens", a.follow.Run)
	return nil
}

// readTokens reads a tokens file that must hold at least one.
func readTokens(name string) (text []byte, tokens []access.Token, err error) {
	if text, err = os.ReadFile(name); err != nil {
		return nil, nil, fmt.Errorf("read tokens: %w", err)
	}
	if tokens, err = parseTokens(text); err != nil {
		return nil, nil, fmt.Errorf("read tokens from %s: %w", name, err)
	}
	return text, tokens, nil
}

// parseTokens reads the tokens that a server starts with: with none nobody could ask it anything.
func parseTokens(text []byte) ([]access.Token, error) {
	tokens, err := access.ParseTokens(text)
	if err == nil && len(tokens) == 0 {
		err = errors.New("no tokens")
	}
	return tokens, err
}

// Run looks at the file again and again until ctx is done, and ends what goes on with tokens that have ended.
func (f *tokensFile) Run(ctx context.Context) error {
	tick := time.NewTicker(tokensEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.look(false)
		case <-f.again:
			f.log.Info("the tokens file is read again", "file", f.file.name)
			f.look(true)
		}
		f.tokens.Sweep()
	}
}

// Again asks for a look at once. It does not wait for it.
func (f *tokensFile) Again() {
	select {
	case f.again <- struct{}{}:
	default: // Somebody has asked already.
	}
}

// look takes the tokens of the file when they are others than those in use: at once, or when the file has settled.
func (f *tokensFile) look(atOnce bool) {
	switch news, text, err := f.file.look(atOnce); news {
	case fileUnread:
		f.keep(err)
	case fileSame:
		f.set(health.OK, "")
	case fileChanged:
		f.take(text)
	}
}

// take puts the tokens of the file into use.
func (f *tokensFile) take(text []byte) {
	tokens, err := access.ParseTokens(text)
	if err == nil {
		err = f.tokens.Replace(tokens)
	}
	if err != nil {
		f.keep(err)
		return
	}
	f.file.used = text
	f.set(health.OK, "")
	f.log.Info("other tokens are valid now", "file", f.file.name, "tokens", len(tokens))
}

// keep says that the file cannot be used.
func (f *tokensFile) keep(err error) {
	f.set(health.Behind, fmt.Sprintf("the tokens file cannot be used, so the tokens that were valid before stay valid: %v", err))
}

// set says how the file is, and logs what is new about it.
func (f *tokensFile) set(state health.State, detail string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if detail != "" && detail != f.part.Detail {
		f.log.Error("tokens stay as they were", "file", f.file.name, "detail", detail)
	}
	f.part.State, f.part.Detail = state, detail
}

// Health says whether the tokens in use are those of the file.
func (f *tokensFile) Health() []health.Part {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []health.Part{f.part}
}
