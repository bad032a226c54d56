package httpd

import (
	"encoding/json"
	"net/http"
	"strings"

	"nanobot/internal/words"
)

// refusal is the answer to a request that is refused.
type refusal struct {
	status int
	code   string // the reason for programs; "": the status says it
	text   string // the reason for people
}

// wordsFor returns the words in the language that a person's browser prefers.
func wordsFor(c *words.Catalogue, r *http.Request) words.Words {
	return c.For(r.Header.Get("Accept-Language"))
}

// roleName returns the name of a role for people.
func roleName(texts words.Words, r Role) string {
	if r == Operator {
		return texts.Text(words.RoleOperator)
	}
	return texts.Text(words.RoleChat)
}

// title returns the key of the title of the refusal's page.
func (f refusal) title() words.Key {
	switch f.status {
	case http.StatusUnauthorized:
		return words.PageSignedOut
	case http.StatusNotFound:
		return words.TitleBadLink
	case http.StatusTooManyRequests:
		return words.TitlePleaseWait
	case http.StatusServiceUnavailable:
		return words.TitleDidNotWork
	}
	return words.TitleCannotDoThis
}

// writeRefusal answers with a refusal: a page for people, JSON for programs.
func writeRefusal(w http.ResponseWriter, r *http.Request, texts words.Words, f refusal) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		title := texts.Text(f.title())
		writePage(w, f.status, texts, page{Title: title, Text: strings.TrimPrefix(f.text, title+". ")})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(f.status)
	body := struct {
		Error string `json:"error"`
		Code  string `json:"code,omitempty"`
	}{f.text, f.code}
	_ = json.NewEncoder(w).Encode(body)
}
