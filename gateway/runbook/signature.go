package runbook

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// keyRecord is the key of the record with the seed of the bot's ed25519 key, in hex.
const keyRecord = "runbook/key"

// ErrNoKey says that the bot has no key yet, because no run was started.
var ErrNoKey = errors.New("there is no key in the state, because no runbook was run")

// loadKey returns the private key of the bot. The error is ErrNoKey if it has none.
func (rs Runs) loadKey(ctx context.Context) (ed25519.PrivateKey, error) {
	value, err := rs.Records.LoadRecord(ctx, keyRecord)
	if err == nil && value == "" {
		err = ErrNoKey
	}
	if err != nil {
		return nil, err
	}
	seed, err := hex.DecodeString(value)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("the key of the runbooks in the state is damaged")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// key returns the private key of the bot. The first call creates it.
func (rs Runs) key(ctx context.Context) (ed25519.PrivateKey, error) {
	for {
		key, err := rs.loadKey(ctx)
		if !errors.Is(err, ErrNoKey) {
			return key, err
		}
		if _, err := rs.Records.SwapRecord(ctx, keyRecord, "", Env{}.randomHex(ed25519.SeedSize)); err != nil {
			return nil, err
		}
	}
}

// VerificationKey is PublicKey without creating a key. The error is ErrNoKey if there is none.
func (rs Runs) VerificationKey(ctx context.Context) (ed25519.PublicKey, error) {
	key, err := rs.loadKey(ctx)
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil //nolint:forcetypeassert // as documented
}

// PublicKey returns the key with which the exports of the bot can be checked. The first call
// creates it.
func (rs Runs) PublicKey(ctx context.Context) (ed25519.PublicKey, error) {
	key, err := rs.key(ctx)
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil //nolint:forcetypeassert // as documented
}

// Export returns the export of a run with the signature of the bot.
func (rs Runs) Export(ctx context.Context, r Run) (Export, error) {
	key, err := rs.key(ctx)
	if err != nil {
		return Export{}, fmt.Errorf("sign export: %w", err)
	}
	e := r.Export()
	e.PublicKey = key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // as documented
	e.Signature = ed25519.Sign(key, e.signedText())
	return e, nil
}

// signedText returns the text that is signed. The hash of the last record covers all records up to
// a forgotten one; the rest of the export is not in the records, or not in those of a run that has
// none.
func (e Export) signedText() []byte {
	text := fmt.Appendf(nil, "nanobot runbook export %d\n%q\n%q\n%s\n%s\n",
		e.Version, e.Run, string(e.Status), e.TextHash(), e.LastHash())
	for _, entry := range e.Records {
		if f := entry.Forgotten; f != nil {
			text = fmt.Appendf(text, "forgotten %d\n%q\n%q\n", f.Step, f.Previous, entry.ProofHash)
		}
	}
	return text
}

// CheckSignature checks that the owner of a public key has signed the export, which must be valid
// otherwise. The error is a *RecordError.
func (e Export) CheckSignature(key ed25519.PublicKey) error {
	switch {
	case len(e.Signature) == 0:
		return &RecordError{Message: "it is not signed, so anybody can have written it. " +
			"Export the run again: versions before signatures did not sign"}
	case !bytes.Equal(e.PublicKey, key):
		return &RecordError{Message: fmt.Sprintf("it is signed with another key, %s, and not with %s", FormatKey(e.PublicKey),
			FormatKey(key))}
	case !ed25519.Verify(key, e.signedText(), e.Signature):
		return &RecordError{Message: "its signature does not match: the run, its status, its records or the signature was " +
			"changed"}
	}
	return nil
}

// FormatKey returns a public key as text.
func FormatKey(key []byte) string { return base64.StdEncoding.EncodeToString(key) }

// ParseKey parses the text of a public key.
func ParseKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is no key of nanobot runbook key", text)
	}
	return key, nil
}
