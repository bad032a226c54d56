package httpd

import (
	"context"
	"crypto/rand"
	_ "embed" // the style sheet
	"errors"
	"html"
	"io"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"nanobot/internal/words"
)

// EnterPath is the path of one-time links, followed by the code.
const EnterPath = "/in/"

// Mount registers sign-in and sign-out. GET of a link only shows a page, and the POST of its button
// uses up the link: the link preview of a chat program must not. A browser also sends a cookie with
// SameSite=Strict only after a request of our own page, not after a click in a mail.
func (a *Access) Mount(mux *http.ServeMux, log *zap.Logger) {
	mux.HandleFunc("GET "+EnterPath+"{code}", a.serveLinkPage)
	mux.HandleFunc("POST "+EnterPath+"{code}", func(w http.ResponseWriter, r *http.Request) { a.signIn(w, r, log) })
	mux.HandleFunc("GET "+stylePath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, style)
	})
	mux.HandleFunc("GET "+EnterPath+"enter.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = io.WriteString(w, "document.forms[0].submit();\n")
	})
	mux.Handle("POST /out", a.Require(Chat,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.signOut(w, r, log) })))
}

// serveLinkPage shows the page of a link. A script submits its form, unless another site may have
// led here: an attacker could otherwise sign a visitor in as a user whose chats the attacker reads
// (login CSRF). Links of operators are exempt, since operators read all chats anyway.
func (a *Access) serveLinkPage(w http.ResponseWriter, r *http.Request) {
	id, ok, err := a.checkLink(w, r)
	if errors.Is(err, errTooManyAttempts) {
		return
	}
	texts := wordsFor(a.words, r)
	p := page{Title: "nanobot", Enter: texts.Text(words.SignInOpen)}
	site := r.Header.Get("Sec-Fetch-Site")
	p.Auto = err != nil || !ok || id.Role == Operator || site == "none" || site == "same-origin"
	if !p.Auto {
		p.Text = texts.Text(words.SignInLinkFor, id.User)
	}
	writePage(w, http.StatusOK, texts, p)
}

var errTooManyAttempts = errors.New("too many wrong attempts")

// checkLink returns the user of the link of a request. An invalid link counts as a wrong attempt,
// unless the browser is signed in: people return by a link that they have used. After
// errTooManyAttempts the request is answered.
func (a *Access) checkLink(w http.ResponseWriter, r *http.Request) (Identity, bool, error) {
	_, signedIn, err := a.identifyBrowser(r)
	if err != nil {
		return Identity{}, false, err
	}
	if !signedIn && a.attempts.Blocked(w, r) {
		return Identity{}, false, errTooManyAttempts
	}
	id, ok, err := a.grants.Lookup(r.Context(), r.PathValue("code"))
	if err == nil && !ok && !signedIn && a.attempts.Wrong(w, r) {
		return Identity{}, false, errTooManyAttempts
	}
	return id, ok, err
}

func (a *Access) signIn(w http.ResponseWriter, r *http.Request, log *zap.Logger) {
	code, texts := r.PathValue("code"), wordsFor(a.words, r)
	current, signedIn, _ := a.identifyBrowser(r)
	id, ok, err := a.checkLink(w, r)
	if errors.Is(err, errTooManyAttempts) {
		return
	}
	// the user returns by a link
	if err == nil && signedIn && (!ok || current.User == id.User && current.Role.includes(id.Role)) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	if ok && signedIn && current.User != id.User && r.PostFormValue("as") != id.User {
		writePage(w, http.StatusConflict, texts, page{
			Title: "nanobot", Text: texts.Text(words.SignInOther, current.User, roleName(texts, current.Role), id.User,
				roleName(texts, id.Role)),
			Enter: texts.Text(words.SignInSwitch, id.User), As: id.User, Stay: texts.Text(words.SignInStay, current.User),
		})
		return
	}
	if ok {
		id, ok, err = a.startSession(r.Context(), code, id)
	}
	switch {
	case err != nil:
		log.Error("sign-in by link failed", zap.Error(err))
		writeRefusal(w, r, texts, refusal{status: http.StatusServiceUnavailable, text: texts.Text(words.SignInFailed)})
	case !ok:
		where := texts.Text(words.SignInNewLink, linkCommand)
		if offered := a.offeredLink(r); offered != "" {
			where = texts.Text(offered)
		}
		writeRefusal(w, r, texts, refusal{status: http.StatusNotFound, text: texts.Text(words.SignInLinkSpent) + " " + where})
	default:
		if signedIn && current.session != "" { // its notifications would reach the next user of the browser
			if err := a.sessions.end(r.Context(), current, a.now()); err != nil {
				log.Error("end of the earlier sign-in not stored", zap.String("user", current.User), zap.Error(err))
			}
		}
		a.cookies.write(w, r, id)
		log.Info("signed in by a link", zap.String("user", id.User), zap.String("role", string(id.Role)))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// startSession uses up a link and starts the session of its user. The session is recorded first, so
// that every signed-in browser is listed and Revoke, which ends links before sessions, misses none.
func (a *Access) startSession(ctx context.Context, code string, id Identity) (Identity, bool, error) {
	now := a.now()
	id.Expires, id.session = now.Add(sessionLifetime), rand.Text()
	if err := recordSession(ctx, a.grants.Records, id, now, now); err != nil {
		return id, false, err
	}
	ok, err := a.grants.Consume(ctx, code)
	if !ok || err != nil {
		none := map[string]string{sessionPrefix + hashSecret(id.session): ""}
		return id, false, errors.Join(err, a.grants.Records.SaveRecords(ctx, none))
	}
	return id, true, nil
}

// signOut permanently ends the session of a request. A request with the token has no session.
func (a *Access) signOut(w http.ResponseWriter, r *http.Request, log *zap.Logger) {
	id := IdentityOf(r.Context())
	if id.session != "" {
		a.cookies.clear(w, r)
		if err := a.sessions.end(r.Context(), id, a.now()); err != nil {
			log.Error("sign-out not stored, it lasts until the next start", zap.String("user", id.User), zap.Error(err))
			texts := wordsFor(a.words, r)
			writeRefusal(w, r, texts, refusal{status: http.StatusServiceUnavailable, text: texts.Text(words.SignOutNotStored)})
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// page is a page of the server itself.
type page struct {
	Title, Text string
	Enter       string // label of the button that uses up a link; "" means no button
	Auto        bool   // a script submits the form
	As          string // the user whom the form confirms
	Stay        string // label of the link to the chat as the current user
}

// linkCommand is the command that makes a link.
const linkCommand = "nanobot link"

// html renders the page. It does not use html/template: reflection keeps the linker from removing
// unused methods, a fifth of the binary.
func (p page) html(language words.Language) string {
	title := html.EscapeString(p.Title)
	body := ""
	if text, found := strings.CutSuffix(p.Text, linkCommand); found {
		body = "<p>" + html.EscapeString(text) + "</p><pre>" + linkCommand + "</pre>"
	} else if text != "" {
		body = "<p>" + html.EscapeString(text) + "</p>"
	}
	if p.Enter != "" {
		as := ""
		if p.As != "" {
			as = `<input type="hidden" name="as" value="` + html.EscapeString(p.As) + `">`
		}
		body += `<form method="post">` + as + `<button>` + html.EscapeString(p.Enter) + `</button></form>`
	}
	if p.Auto {
		body += `<script src="/in/enter.js"></script>`
	}
	if p.Stay != "" {
		body += `<p><a href="/">` + html.EscapeString(p.Stay) + `</a></p>`
	}
	return `<!doctype html>
<html lang="` + string(language) +
		`"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>` + title + `</title><link rel="stylesheet" href="` + stylePath + `">
<header><svg viewBox="0 0 32 32" aria-hidden="true"><path
d="M9 9h14a3 3 0 0 1 3 3v7a3 3 0 0 1-3 3h-7l-5 4v-4H9a3 3 0 0 1-3-3v-7a3 3 0 0 1 3-3z"/><circle
cx="12.5" cy="15.5" r="1.8"/><circle cx="19.5" cy="15.5" r="1.8"/></svg>nanobot</header>
<main><h1>` + title + `</h1>` + body + `
</main></html>
`
}

// stylePath is the path of the style sheet. A browser gets it without being signed in.
const stylePath = EnterPath + "style.css"

// style makes the pages look like the chat page, whose files need a session.
//
//go:embed style.css
var style string

func writePage(w http.ResponseWriter, status int, texts words.Words, p page) {
	if p.Enter != "" { // with no-referrer the browser would send the form without an Origin
		w.Header().Set("Referrer-Policy", "same-origin")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, p.html(texts.Language()))
}
