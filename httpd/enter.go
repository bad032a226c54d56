package httpd

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"strings"

	"go.uber.org/zap"
)

// EnterPath is where links lead.
const EnterPath = "/in/"

// Mount puts the way in into a mux. The link itself only shows a page, whose button, which a script presses, uses it up: a chat program
// that looks at links to show what is behind them must not take this one. And a browser gives a strict cookie only to what our own page
// asked for, not to where a link in somebody's mail leads.
func (a *Access) Mount(mux *http.ServeMux, log *zap.Logger) {
	mux.HandleFunc("GET "+EnterPath+"{code}", func(w http.ResponseWriter, _ *http.Request) {
		// With no-referrer the browser would not say where the form is.
		w.Header().Set("Referrer-Policy", "same-origin")
		writePage(w, http.StatusOK, page{Title: "nanobot", Enter: true})
	})
	mux.HandleFunc("POST "+EnterPath+"{code}", func(w http.ResponseWriter, r *http.Request) { a.enter(w, r, log) })
	mux.HandleFunc("GET "+EnterPath+"enter.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = io.WriteString(w, "document.forms[0].submit();\n")
	})
}

func (a *Access) enter(w http.ResponseWriter, r *http.Request, log *zap.Logger) {
	id, ok, err := a.links.Take(r.PathValue("code"))
	if err != nil {
		log.Error("link not taken", zap.Error(err))
		refuse(w, r, http.StatusServiceUnavailable, "This did not work. The operator can see in the log why.")
		return
	}
	if _, _, inside := a.identify(r); !ok && inside { // who comes back by the link that let them in
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if !ok {
		refuse(w, r, http.StatusNotFound, "This link was used already, or is too old. Who runs this bot makes a new one with: nanobot link")
		return
	}
	id.Expires = a.now().Add(sessionLife)
	a.cookies.write(w, r, id)
	log.Info("somebody came in by a link", zap.String("user", id.User), zap.String("role", string(id.Role)))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// page is what people see of us ourselves.
type page struct {
	Title, Text string
	Enter       bool
}

// html is a page. It is not made by a template: those let the linker drop nothing, which a fifth of the binary is.
func (p page) html() string {
	title := html.EscapeString(p.Title)
	body := ""
	if p.Text != "" {
		body = "<p>" + html.EscapeString(p.Text) + "</p>"
	}
	if p.Enter {
		body += `<form method="post"><button>Open the chat</button></form><script src="/in/enter.js"></script>`
	}
	return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>` + title + `</title>
<main><h1>` + title + `</h1>` + body + `
</main></html>
`
}

func writePage(w http.ResponseWriter, status int, p page) {
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
