package httpd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/internal/role"
	"nanobot/internal/words"
)

// Role is the set of permissions of a user.
type Role string

// The roles. Operator includes Chat.
const (
	Chat     Role = "chat"
	Operator Role = "operator"
)

// Valid reports whether the role exists.
func (r Role) Valid() bool { return r == Chat || r == Operator }

// allowsUser reports whether a user of that name can have the role. The name "operator" is used for
// scripts and for operators without a name; chat users must not share their chats.
func (r Role) allowsUser(user string) bool {
	return r == Operator || !strings.EqualFold(user, string(Operator))
}

// includes reports whether a role has the permissions of another one.
func (r Role) includes(required Role) bool {
	return r.Valid() && (r == required || role.May(role.Role(r), role.UseConsole, role.NoList))
}

// Identity is the user who makes a request.
type Identity struct {
	User string
	Role Role
	// Expires is when the session expires; zero means never.
	Expires time.Time

	session string // "" for a request with the token
}

// Options are the parameters of NewAccess.
type Options struct {
	// Records store the key of the cookies, unused links, sessions and ended sessions.
	Records Records
	// Token authenticates scripts; "" means that no token is accepted.
	Token string
	// Attempts counts wrong credentials; nil means a counter of this Access that logs nothing.
	Attempts *Attempts
	// Words has the texts of the pages and refusals; nil means English.
	Words *words.Catalogue
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Access authenticates requests by the cookie that a one-time link has set, or by the token.
type Access struct {
	token    [sha256.Size]byte
	hasToken bool
	cookies  cookies
	sessions *sessions
	grants   Grants
	attempts *Attempts
	words    *words.Catalogue
	now      func() time.Time
	// offerLink is set by OfferLinks.
	offerLink atomic.Pointer[func(ctx context.Context) words.Key]
}

// OfferLinks sets a function that is called for a browser without a session, and returns the text
// that tells where the person finds a link, or "" if there is none. Without it the person is sent
// to the bot's operator.
func (a *Access) OfferLinks(f func(ctx context.Context) words.Key) { a.offerLink.Store(&f) }

// offeredLink returns the text that tells where the person of a request finds a link; "" if nothing
// offers links.
func (a *Access) offeredLink(r *http.Request) words.Key {
	if f := a.offerLink.Load(); f != nil {
		return (*f)(r.Context())
	}
	return ""
}

// NewAccess returns an Access. It makes the key of the cookies if the records have none.
func NewAccess(ctx context.Context, o Options) (*Access, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Attempts == nil {
		o.Attempts = NewAttempts(nil, o.Now, zap.NewNop())
	}
	key, err := loadKey(ctx, o.Records)
	if err != nil {
		return nil, err
	}
	_ = removeExpired(ctx, o.Records, o.Now()) // repeated at the next start; a full disk must not prevent this one
	return &Access{
		token: sha256.Sum256([]byte(o.Token)), hasToken: o.Token != "",
		cookies: newCookies(key), sessions: newSessions(o.Records), grants: Grants{o.Records, o.Now}, attempts: o.Attempts,
		words: o.Words, now: o.Now,
	}, nil
}

type identityKey struct{}

// IdentityOf returns the user of a request that Require has let through.
func IdentityOf(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity)
	return id
}

// SignIn returns the hash of the session of a request that Require has let through; "" for one with
// the token.
func SignIn(ctx context.Context) string {
	if id := IdentityOf(ctx); id.session != "" {
		return hashSecret(id.session)
	}
	return ""
}

// Require lets only users with a role through. A request by cookie that changes something must have
// an Origin or Sec-Fetch-Site header, as browsers send it; Guard has checked the value.
func (a *Access) Require(role Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, byToken := bearerToken(r)
		if byToken && a.attempts.Blocked(w, r) {
			return
		}
		id, ok, wrong, err := a.identify(r, token, byToken)
		texts := wordsFor(a.words, r)
		switch {
		case err != nil: // the session may still be valid, so the answer is not 401
			writeRefusal(w, r, texts, refusal{status: http.StatusServiceUnavailable, text: texts.Text(words.SignInUnchecked)})
		case !ok && wrong && a.attempts.Wrong(w, r):
		case !ok:
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeRefusal(w, r, texts, a.unauthorized(r, texts, byToken))
		case !id.Role.includes(role):
			writeRefusal(w, r, texts, refusal{status: http.StatusForbidden, text: texts.Text(words.RefusedOperators)})
		case !byToken && !isSafeMethod(r.Method) && cmp.Or(r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")) == "":
			writeRefusal(w, r, texts, refusal{
				status: http.StatusForbidden,
				text:   "A request without an Origin header needs the token.",
			})
		default:
			ctx := context.WithValue(r.Context(), identityKey{}, id)
			if id.session != "" { // a stream must not outlive its session
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, id.Expires)
				defer cancel()
				a.sessions.touch(r.Context(), id, a.now())
				defer a.sessions.trackRequest(id.session, cancel)()
			}
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// unauthorized returns the answer to a request without a valid credential.
func (a *Access) unauthorized(r *http.Request, texts words.Words, byToken bool) refusal {
	if byToken {
		return refusal{
			http.StatusUnauthorized, "wrong_token",
			"This token is wrong. Scripts use the http.token of the config.",
		}
	}
	if offered := a.offeredLink(r); offered != "" {
		return refusal{http.StatusUnauthorized, "link_offered", texts.Text(offered)}
	}
	if a.cookies.hasSigned(r) {
		text := texts.Text(words.PageSignedOut) + ". " + texts.Text(words.SignInAskForLink)
		return refusal{http.StatusUnauthorized, "signed_out", text}
	}
	return refusal{http.StatusUnauthorized, "link_needed", texts.Text(words.SignInNeedsLink, linkCommand)}
}

// bearerToken returns the token of a request. Other schemes are ignored: they are meant for a proxy
// in front of us that asks for a password.
func bearerToken(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// identify returns the user of a request, and whether it has a credential that was never valid. A
// request with a wrong token is refused even if its cookie is valid.
func (a *Access) identify(r *http.Request, token string, byToken bool) (id Identity, ok, wrong bool, err error) {
	if byToken {
		sum := sha256.Sum256([]byte(token))
		good := a.hasToken && subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
		return Identity{User: string(Operator), Role: Operator}, good, !good, nil
	}
	if id, ok, err = a.identifyBrowser(r); ok || err != nil {
		return id, ok, false, err
	}
	return Identity{}, false, a.cookies.forged(r), nil
}

// identifyBrowser returns the user whose cookie a request has.
func (a *Access) identifyBrowser(r *http.Request) (Identity, bool, error) {
	id, ok := a.cookies.read(r, a.now())
	if !ok || !id.Role.allowsUser(id.User) {
		return Identity{}, false, nil
	}
	ended, err := a.sessions.ended(r.Context(), id.session)
	return id, !ended && err == nil, err
}

// Grants returns the links and sessions of this server.
func (a *Access) Grants() Grants { return a.grants }

func isSafeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
