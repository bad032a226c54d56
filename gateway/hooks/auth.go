package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Auth says how a caller proves to know the secret of a hook.
type Auth string

// The kinds of authentication.
const (
	Bearer Auth = "bearer" // Authorization: Bearer SECRET
	GitHub Auth = "github" // X-Hub-Signature-256: sha256=HEX
	Stripe Auth = "stripe" // Stripe-Signature: t=TIME,v1=HEX
	HMAC   Auth = "hmac"   // HEX or sha256=HEX in a header of choice
)

const (
	githubHeader = "X-Hub-Signature-256"
	stripeHeader = "Stripe-Signature"
	hexPrefix    = "sha256="
	// stripeTolerance is how far the time of a signature may be off, as in Stripe's libraries.
	stripeTolerance = 5 * time.Minute
)

// credentials are the proof in the headers of a request.
type credentials struct {
	signed string // what precedes the body in the signed text
	proofs [][]byte
	when   time.Time // zero unless the time is signed
}

// readCredentials reads the proof in the headers of a request. Without one, there are no proofs.
func (h Hook) readCredentials(header http.Header) (c credentials) {
	add := func(signature string) {
		if proof, err := hex.DecodeString(signature); err == nil && len(proof) == sha256.Size {
			c.proofs = append(c.proofs, proof)
		}
	}
	switch h.Auth {
	case Bearer:
		if scheme, token, _ := strings.Cut(header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
			proof := sha256.Sum256([]byte(strings.TrimSpace(token))) // hides the length of the secret from the clock
			c.proofs = append(c.proofs, proof[:])
		}
	case GitHub:
		if signature, ok := strings.CutPrefix(header.Get(githubHeader), hexPrefix); ok {
			add(signature)
		}
	case Stripe:
		for field := range strings.SplitSeq(header.Get(stripeHeader), ",") {
			switch key, value, _ := strings.Cut(strings.TrimSpace(field), "="); key {
			case "t":
				if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
					c.signed, c.when = value+".", time.Unix(seconds, 0)
				}
			case "v1":
				add(value)
			}
		}
	case HMAC:
		add(strings.TrimPrefix(header.Get(h.Header), hexPrefix))
	}
	return c
}

// proves reports whether a proof is right for a body. It takes as long for a wrong proof as for the
// right one.
func (h Hook) proves(c credentials, body []byte, now time.Time) bool {
	var want []byte
	if h.Auth == Bearer {
		sum := sha256.Sum256([]byte(h.Secret))
		want = sum[:]
	} else {
		want = h.sign(c.signed, body)
	}
	valid := 0
	for _, proof := range c.proofs {
		valid |= subtle.ConstantTimeCompare(proof, want)
	}
	return valid == 1 && (h.Auth != Stripe || c.when.Sub(now).Abs() <= stripeTolerance)
}

// sign returns the HMAC-SHA256 of a body and what precedes it.
func (h Hook) sign(before string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(h.Secret))
	mac.Write([]byte(before))
	mac.Write(body)
	return mac.Sum(nil)
}

// authorize adds the credentials of a caller who knows the secret to a request.
func (h Hook) authorize(r *http.Request, body []byte, now time.Time) {
	switch h.Auth {
	case Bearer:
		r.Header.Set("Authorization", "Bearer "+string(h.Secret))
	case GitHub:
		r.Header.Set(githubHeader, hexPrefix+hex.EncodeToString(h.sign("", body)))
	case Stripe:
		seconds := strconv.FormatInt(now.Unix(), 10)
		r.Header.Set(stripeHeader, "t="+seconds+",v1="+hex.EncodeToString(h.sign(seconds+".", body)))
	case HMAC:
		r.Header.Set(h.Header, hex.EncodeToString(h.sign("", body)))
	}
}
