package requestkey

import (
	"bytes"
	"context"
	"encoding/json"
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
	return k.handler(call{required: required})
}

// Sealed stands before a call whose reply shows a secret. The reply is kept locked with the token or the session of its caller, and nobody else
// gets it.
func (k *Keys) Sealed() gin.HandlerFunc { return k.handler(call{sealed: true}) }

func (k *Keys) handler(of call) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := k.handle(c, of); err != nil {
			httperr.Write(c.Writer, c.Request, k.cfg.Log, err)
			c.Abort()
		}
	}
}

// call is a request under a key, and what its route does with keys.
type call struct {
	required bool   // A request without a key is refused.
	sealed   bool   // The reply shows a secret.
	name     string // Of the key, its caller and its address.
	seal     *seal  // Of a sealed call; nil where its request proves nothing.
}

func (k *Keys) handle(c *gin.Context, of call) error {
	key, err := Of(c.Request)
	switch {
	case err != nil:
		return err
	case key == "" && of.required:
		return httperr.New(httperr.IdempotencyKeyRequired, nil).WithField("/header/Idempotency-Key", "is missing")
	case key == "":
		return nil // gin goes on.
	}
	of.name = scoped(access.From(c.Request.Context()), c.Request, key)
	if of.sealed {
		if of.seal, err = sealOf(c.Request, key); err != nil {
			return err
		}
	}
	print, err := fingerprintOf(c.Request)
	if err != nil {
		return err
	}
	state, err := k.reserve(c.Request.Context(), of.name, print)
	if err != nil {
		return err
	}
	return k.answer(c, of, state)
}

// fingerprintOf reads the body and puts it back.
func fingerprintOf(r *http.Request) (string, error) {
	if r.Body == nil {
		return fingerprint(r, nil), nil
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
	return fingerprint(r, body), nil
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

func (k *Keys) answer(c *gin.Context, of call, state decision.KeyState) error {
	switch state.Status {
	case decision.KeyReused:
		return httperr.New(httperr.IdempotencyKeyReused, nil).WithField("/header/Idempotency-Key", "was used with another request")
	case decision.KeyRunning:
		return httperr.New(httperr.IdempotencyInProgress, nil).WithHeader("Retry-After", "1")
	case decision.KeyCompleted:
		kept, err := of.open(state.Reply)
		if err != nil {
			return err
		}
		kept.send(c.Writer)
		c.Abort()
		return nil
	case decision.KeyReserved:
		k.run(c, of, state.Token)
	}
	return nil
}

// open reads a reply that was kept.
func (of call) open(kept []byte) (reply, error) {
	r, err := readReply(kept)
	if err != nil || !of.sealed {
		return r, err
	}
	if of.seal == nil {
		return r, errSealed(nil)
	}
	if r.Body, err = of.seal.open(of.name, r.Body); err != nil {
		return r, errSealed(err)
	}
	return r, nil
}

func errSealed(cause error) error {
	return httperr.New(httperr.Conflict, cause).WithDetail("This call was made, and its secret was shown to the token or session that made it. Nobody else is shown it: " +
		"revoke what was made, and make another with a new key.")
}

// run lets the call happen, and keeps its reply before anybody sees it. A panic frees the key and goes on.
func (k *Keys) run(c *gin.Context, of call, token uint64) {
	answer := &recorder{ResponseWriter: c.Writer}
	c.Writer = answer
	c.Request = c.Request.WithContext(context.WithValue(WithID(c.Request.Context(), of.name), nothingKey{}, &answer.nothing))
	ended := false
	defer func() {
		c.Writer = answer.ResponseWriter
		k.end(c.Request.Context(), of, token, answer, ended)
		if ended {
			answer.release()
		}
	}()
	c.Next()
	ended = true
}

// end keeps the reply of a call that succeeded and frees the key of any other. Where that fails the reservation ends by itself, and the call
// runs anew; what it decided is not decided again.
func (k *Keys) end(ctx context.Context, of call, token uint64, answer *recorder, ended bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := k.keep(ctx, of, token, answer, ended)
	if err != nil {
		k.cfg.Log.ErrorContext(ctx, "the reply to a call could not be kept under its key", "error", err)
	}
}

func (k *Keys) keep(ctx context.Context, of call, token uint64, answer *recorder, ended bool) error {
	if !ended || answer.nothing || !answer.succeeded() || of.sealed && of.seal == nil {
		return k.cfg.Store.ReleaseKey(ctx, of.name, token)
	}
	kept := answer.reply()
	if of.sealed {
		kept.Body = of.seal.close(of.name, kept.Body)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return k.cfg.Store.CompleteKey(ctx, of.name, token, text)
}
