package httpd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"go.uber.org/zap"
)

// EnterPath is where links lead.
const EnterPath = "/in/"

// Mount puts the ways in and out into a mux. The link itself only shows a page, whose button uses
// it up: a chat program that looks at links to show what is behind them must not take this one. And
// a browser gives a strict cookie only to what our own page asked for, not to where a link in
// somebody's mail leads.
func (a *Access) Mount(mux *http.ServeMux, log *zap.Logger) {
	mux.HandleFunc("GET "+EnterPath+"{code}", a.show)
	mux.HandleFunc("POST "+EnterPath+"{code}", func(w http.ResponseWriter, r *http.Request) { a.enter(w, r, log) })
	mux.HandleFunc("GET "+EnterPath+"enter.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = io.WriteString(w, "document.forms[0].submit();\n")
	})
	mux.Handle("POST /out", a.Require(Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.leave(w, r, log) })))
}

// show is the page behind a link. A script presses its button, unless another site may have led
// here: whoever has a link could otherwise make others, without a click of theirs, talk in chats
// that he reads. An operator reads them all anyway.
func (a *Access) show(w http.ResponseWriter, r *http.Request) {
	id, ok, err := a.look(w, r)
	if errors.Is(err, errTooMany) {
		return
	}
	p := page{Title: "nanobot", Enter: "Open the chat"}
	site := r.Header.Get("Sec-Fetch-Site")
	p.Auto = err != nil || !ok || id.Role == Operator || site == "none" || site == "same-origin"
	if !p.Auto {
		p.Text = "This link is for " + id.User + "."
	}
	writePage(w, http.StatusOK, p)
}

var errTooMany = errors.New("too many wrong attempts")

// look tells whom the link of a request lets in. It counts a link that lets nobody in as a wrong
// attempt, unless the browser is in already: people come back by a link that they have used. After
// errTooMany the request is answered.
func (a *Access) look(w http.ResponseWriter, r *http.Request) (Identity, bool, error) {
	_, inside, err := a.inside(r)
	if err != nil {
		return Identity{}, false, err
	}
	if !inside && a.attempts.Blocked(w, r) {
		return Identity{}, false, errTooMany
	}
	id, ok, err := a.links.Look(r.Context(), r.PathValue("code"))
	if err == nil && !ok && !inside && a.attempts.Wrong(w, r) {
		return Identity{}, false, errTooMany
	}
	return id, ok, err
}

func (a *Access) enter(w http.ResponseWriter, r *http.Request, log *zap.Logger) {
	code := r.PathValue("code")
	was, inside, _ := a.inside(r)
	id, ok, err := a.look(w, r)
	if errors.Is(err, errTooMany) {
		return
	}
	if err == nil && inside && (!ok || was.User == id.User && was.Role.may(id.Role)) { // who comes back, by this link or another one
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	if ok && inside && was.User != id.User && r.PostFormValue("as") != id.User {
		text := fmt.Sprintf("In this browser you are %s (%s). This link is for %s (%s).", was.User, was.Role, id.User, id.Role)
		writePage(w, http.StatusConflict, page{Title: "nanobot", Text: text, Enter: "Become " + id.User, As: id.User, Stay: "Stay " + was.User})
		return
	}
	if ok {
		id, ok, err = a.begin(r.Context(), code, id)
	}
	switch {
	case err != nil:
		log.Error("link not taken", zap.Error(err))
		refuse(w, r, http.StatusServiceUnavailable, "This did not work. The operator can see in the log why.")
	case !ok:
		refuse(w, r, http.StatusNotFound, "This link was used already, or is too old. Who runs this bot makes a new one with: nanobot link")
	default:
		a.cookies.write(w, r, id)
		log.Info("somebody came in by a link", zap.String("user", id.User), zap.String("role", string(id.Role)))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// begin uses up a link and begins the session of whom it lets in. The session is recorded first:
// nobody comes in who is not listed, and who revokes the link and then the sessions misses none.
func (a *Access) begin(ctx context.Context, code string, id Identity) (Identity, bool, error) {
	now := a.now()
	id.Expires, id.session = now.Add(sessionLife), rand.Text()
	if err := recordSession(ctx, a.links.Records, id, now, now); err != nil {
		return id, false, err
	}
	ok, err := a.links.Take(ctx, code)
	if !ok || err != nil {
		none := map[string]string{sessionPrefix + hashName(id.session): ""}
		return id, false, errors.Join(err, a.links.Records.SaveRecords(ctx, none))
	}
	return id, true, nil
}

// leave ends the session that a request came by, for good. Who came by the token has none.
func (a *Access) leave(w http.ResponseWriter, r *http.Request, log *zap.Logger) {
	id := Who(r.Context())
	if id.session != "" {
		a.cookies.clear(w, r)
		if err := a.sessions.end(r.Context(), id, a.now()); err != nil {
			log.Error("signing out was not written down and holds until the next start", zap.String("user", id.User), zap.Error(err))
			refuse(w, r, http.StatusServiceUnavailable, "You are out, but this may not hold. The operator can see in the log why.")
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// page is what people see of us ourselves.
type page struct {
	Title, Text string
	Enter       string // what the button says that uses a link up; "": there is none
	Auto        bool   // a script presses it
	As          string // who it confirms to become
	Stay        string // what the link says that leads inside as one is
}

// html is a page. It is not made by a template: those let the linker drop nothing, which a fifth of
// the binary is.
func (p page) html() string {
	title := html.EscapeString(p.Title)
	body := ""
	if p.Text != "" {
		body = "<p>" + html.EscapeString(p.Text) + "</p>"
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
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>` + title + `</title>
<main><h1>` + title + `</h1>` + body + `
</main></html>
`
}

func writePage(w http.ResponseWriter, status int, p page) {
	if p.Enter != "" { // with no-referrer the browser would not say where the form is
		w.Header().Set("Referrer-Policy", "same-origin")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, p.html())
}

// refuse says why a request is not served: to people on a page, to programs in JSON.
func refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		writePage(w, status, page{Title: http.StatusText(status), Text: why})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
}
