package httpd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
)

// Role is what somebody may do.
type Role string

// The roles. An operator may do what a chatter may.
const (
	Chat     Role = "chat"
	Operator Role = "operator"
)

// Valid tells whether there is such a role.
func (r Role) Valid() bool { return r == Chat || r == Operator }

// goesWith tells whether somebody of that name can have the role. The operator's name stands for
// scripts and for operators without a name of their own, whose chats nobody else is to see.
func (r Role) goesWith(user string) bool {
	return r == Operator || !strings.EqualFold(user, string(Operator))
}

// may tells whether a role is enough for what asks for another one.
func (r Role) may(asked Role) bool { return r.Valid() && (r == Operator || r == asked) }

// Identity is who makes a request.
type Identity struct {
	User string
	Role Role
	// Expires is when it ends by itself; zero: never.
	Expires time.Time

	session string // "": by token
}

// Options is what access is made of.
type Options struct {
	// Records keep the key of the cookies, open links, sessions and who signed out.
	Records Records
	// Token is what scripts prove themselves with; "" lets none in.
	Token string
	// Attempts counts wrong credentials; nil means that Access counts them by itself and logs
	// nothing.
	Attempts *Attempts
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Access lets in who has a cookie, got by a one-time link, or the token.
type Access struct {
	token    [sha256.Size]byte
	scripts  bool // there is a token
	cookies  cookies
	sessions *sessions
	links    Links
	attempts *Attempts
	now      func() time.Time
}

// NewAccess returns access for what is kept in records. It makes the key of the cookies if there
// is none.
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
	_ = tidy(ctx, o.Records, o.Now()) // a full disk must not keep the daemon from starting; tried again next time
	return &Access{
		token: sha256.Sum256([]byte(o.Token)), scripts: o.Token != "",
		cookies: newCookies(key), sessions: newSessions(o.Records), links: Links{o.Records, o.Now}, attempts: o.Attempts, now: o.Now,
	}, nil
}

// SignedOut is what a browser is told whose session has expired or was ended.
const SignedOut = "You are signed out. Ask the bot's operator for a new link."

type identityKey struct{}

// Who returns who makes a request that Require has let through.
func Who(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity)
	return id
}

// Require lets only those through who have a role. A request by cookie that changes something must
// say which page it comes from, as browsers do; Guard has looked at what it says.
func (a *Access) Require(role Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, byToken := bearer(r)
		if byToken && a.attempts.Blocked(w, r) {
			return
		}
		id, ok, wrong, err := a.identify(r, token, byToken)
		switch {
		case err != nil: // neither let in nor signed out
			refuse(w, r, http.StatusServiceUnavailable, "It cannot be looked up whether you are signed in. Try again in a moment.")
		case !ok && wrong && a.attempts.Wrong(w, r):
		case !ok:
			w.Header().Set("WWW-Authenticate", "Bearer")
			why := "You need a link to get in. Who runs this bot makes one with: nanobot link"
			if !byToken && a.cookies.was(r) {
				why = SignedOut
			}
			refuse(w, r, http.StatusUnauthorized, why)
		case !id.Role.may(role):
			refuse(w, r, http.StatusForbidden, "This is for the operator.")
		case !byToken && !safe(r.Method) && cmp.Or(r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")) == "":
			refuse(w, r, http.StatusForbidden, "Without an Origin header this needs the token.")
		default:
			ctx := context.WithValue(r.Context(), identityKey{}, id)
			if id.session != "" { // a stream must not outlive what it was let in by
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, id.Expires)
				defer cancel()
				a.sessions.touch(r.Context(), id, a.now())
				defer a.sessions.join(id.session, cancel)()
			}
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// bearer returns the token that a request carries. Another scheme is no token: it is for somebody
// else, such as a proxy in front of us that asks for a password.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// identify finds out who makes a request, and whether it carries a credential that was never right.
// A wrong token is not made up for by a cookie.
func (a *Access) identify(r *http.Request, token string, byToken bool) (id Identity, ok, wrong bool, err error) {
	if byToken {
		sum := sha256.Sum256([]byte(token))
		good := a.scripts && subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
		return Identity{User: string(Operator), Role: Operator}, good, !good, nil
	}
	if id, ok, err = a.inside(r); ok || err != nil {
		return id, ok, false, err
	}
	return Identity{}, false, a.cookies.forged(r), nil
}

// inside finds out whose browser makes a request.
func (a *Access) inside(r *http.Request) (Identity, bool, error) {
	id, ok := a.cookies.read(r, a.now())
	if !ok || !id.Role.goesWith(id.User) {
		return Identity{}, false, nil
	}
	ended, err := a.sessions.ended(r.Context(), id.session)
	return id, !ended && err == nil, err
}

// Links makes links that lead here.
func (a *Access) Links() Links { return a.links }

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
