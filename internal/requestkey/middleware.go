package requestkey

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// Config says where keys are kept.
type Config struct {
	Store decision.RequestKeys // Required.
	Now   func() time.Time     // Optional; default time.Now.
	Log   *slog.Logger         // Optional; default discards.
	Wait  time.Duration        // Optional; how long a repetition waits for the call that runs under its key, default 5 s.
}

// Keys answers repeated calls.
type Keys struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Keys, error) {
	if cfg.Store == nil {
		return nil, errors.New("requestkey: Config.Store is required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Wait == 0 {
		cfg.Wait = 5 * time.Second
	}
	return &Keys{cfg}, nil
}

const (
	lease        = time.Minute // A call that runs for longer is taken for dead.
	firstPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
	endTimeout   = 5 * time.Second
)

// Middleware stands before a call that changes something. A call without a key is refused where it is required, and else runs as it is.
func (k *Keys) Middleware(required bool) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := k.handle(c, required); err != nil {
			httperr.Write(c.Writer, c.Request, k.cfg.Log, err)
			c.Abort()
		}
	}
}

func (k *Keys) handle(c *gin.Context, required bool) error {
	key, err := Of(c.Request)
	switch {
	case err != nil:
		return err
	case key == "" && required:
		return httperr.New(httperr.IdempotencyKeyRequired, nil).WithField("/header/Idempotency-Key", "is missing")
	case key == "":
		return nil // gin goes on.
	}
	name := scoped(access.From(c.Request.Context()), c.Request, key)
	print, err := fingerprintOf(c.Request)
	if err != nil {
		return err
	}
	state, err := k.reserve(c.Request.Context(), name, print)
	if err != nil {
		return err
	}
	return k.answer(c, name, state)
}

// fingerprintOf reads the body and puts it back.
func fingerprintOf(r *http.Request) (string, error) {
	if r.Body == nil {
		return fingerprint(r.URL.RawQuery, nil), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return "", err
		}
		return "", httperr.New(httperr.BadRequest, err).WithDetail("The body did not arrive whole. Send the request again.")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return fingerprint(r.URL.RawQuery, body), nil
}

// reserve reserves the key. While another call runs under it, it waits for that call's reply.
func (k *Keys) reserve(ctx context.Context, name, print string) (decision.KeyState, error) {
	ends := time.NewTimer(k.cfg.Wait)
	defer ends.Stop()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		now := lifecycle.MicrosOf(k.cfg.Now())
		state, err := k.cfg.Store.ReserveKey(ctx, decision.KeyRequest{Key: name, Fingerprint: print, Now: now, Until: now.Add(lease)})
		if err != nil || state.Status != decision.KeyRunning {
			return state, err
		}
		select {
		case <-ctx.Done():
			return state, ctx.Err()
		case <-ends.C:
			return state, nil
		case <-time.After(pause):
		}
	}
}

func (k *Keys) answer(c *gin.Context, name string, state decision.KeyState) error {
	switch state.Status {
	case decision.KeyReused:
		return httperr.New(httperr.IdempotencyKeyReused, nil).WithField("/header/Idempotency-Key", "was used with another request")
	case decision.KeyRunning:
		return httperr.New(httperr.IdempotencyInProgress, nil).WithHeader("Retry-After", "1")
	case decision.KeyCompleted:
		kept, err := readReply(state.Reply)
		if err != nil {
			return err
		}
		kept.send(c.Writer)
		c.Abort()
		return nil
	case decision.KeyReserved:
		k.run(c, name, state.Token)
	}
	return nil
}

// run lets the call happen, and keeps its reply before anybody sees it. A panic frees the key and goes on.
func (k *Keys) run(c *gin.Context, name string, token uint64) {
	answer := &recorder{ResponseWriter: c.Writer}
	c.Writer = answer
	c.Request = c.Request.WithContext(WithID(c.Request.Context(), name))
	ended := false
	defer func() {
		c.Writer = answer.ResponseWriter
		k.end(c.Request.Context(), name, token, answer, ended)
		if ended {
			answer.release()
		}
	}()
	c.Next()
	ended = true
}

// end keeps the reply of a call that succeeded and frees the key of any other. Where that fails the reservation ends by itself, and the call
// runs anew; what it decided is not decided again.
func (k *Keys) end(ctx context.Context, name string, token uint64, answer *recorder, ended bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := k.keep(ctx, name, token, answer, ended)
	if err != nil {
		k.cfg.Log.ErrorContext(ctx, "the reply to a call could not be kept under its key", "error", err)
	}
}

func (k *Keys) keep(ctx context.Context, name string, token uint64, answer *recorder, ended bool) error {
	if !ended || !answer.succeeded() {
		return k.cfg.Store.ReleaseKey(ctx, name, token)
	}
	kept, err := answer.reply()
	if err != nil {
		return err
	}
	return k.cfg.Store.CompleteKey(ctx, name, token, kept)
}
