package requestkey

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"net/http"

	"fleetglass/access"
)

// seal locks the body of a reply that shows a secret with what only its caller has, so that the store alone cannot open it.
type seal struct{ aead cipher.AEAD }

// sealOf derives the seal of a request from its token or session and its key, of both of which the store has only hashes. It is nil for a
// request that proves nothing.
func sealOf(r *http.Request, key string) (*seal, error) {
	proof := proofOf(r)
	if proof == "" {
		return nil, nil
	}
	secret, err := hkdf.Key(sha256.New, []byte(proof), []byte(key), "fleetglass: a reply that shows a secret", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{aead}, err
}

// proofOf is the secret of the session that a request came with, else the text of its token as it was sent.
func proofOf(r *http.Request) string {
	session := access.From(r.Context()).Session
	for _, c := range r.Cookies() {
		if session != "" && access.Hash(c.Value) == session {
			return c.Value
		}
	}
	return r.Header.Get("Authorization")
}

// close locks a body; name is of the request, and a body that is moved to another one does not open.
func (s *seal) close(name string, body []byte) []byte {
	return s.aead.Seal(nil, nil, body, []byte(name)) //nolint:gosec // It draws its nonce itself.
}

// open errors where the body was closed with another proof.
func (s *seal) open(name string, body []byte) ([]byte, error) {
	return s.aead.Open(nil, nil, body, []byte(name))
}
