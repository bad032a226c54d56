package main

import (
	"net/http"
	"strings"
)

// checkChats makes the operations on whole chats return every described answer.
func (a *api) checkChats() {
	const chatAt, here = "/api/chats/{id}", "/api/chats/web-a-known-to-nobody-else"
	call := func(want int, as *http.Client, method, path, template, body string) {
		a.t.Helper()
		a.request(want, apiRequest{as: as, method: method, path: path, template: template, kind: isJSON, body: body})
	}
	call(200, a.ann, "PATCH", here, chatAt, `{"title": "The plan", "pinned": true}`)
	a.next("chat", "The plan")
	call(400, a.ann, "PATCH", here, chatAt, `{`)
	call(404, a.bob, "PATCH", here, chatAt, `{"pinned": false}`)
	call(200, a.ann, "GET", hereAt+"?after=0", messagesAt, "")
	call(200, a.ann, "GET", "/api/search?q=plan", "/api/search", "")
	call(200, a.ann, "GET", "/api/search?q=secret", "/api/search", "")
	call(400, a.ann, "GET", "/api/search?q="+strings.Repeat("x", 201), "/api/search", "")
	call(200, a.ann, "PATCH", "/api/me", "/api/me", `{"name": "Ann"}`)
	call(200, a.ann, "GET", "/api/me", "/api/me", "")
	call(400, a.ann, "PATCH", "/api/me", "/api/me", `{`)
	call(409, a.bob, "PATCH", "/api/me", "/api/me", `{"name": "ann"}`)
	call(200, a.ann, "PATCH", "/api/me", "/api/me", `{"name": ""}`)
	call(200, a.ann, "GET", here+"/export", chatAt+"/export", "")
	call(404, a.bob, "GET", here+"/export", chatAt+"/export", "")
	call(200, a.ann, "GET", here+"/menu", chatAt+"/menu", "")
	call(404, a.bob, "GET", here+"/menu", chatAt+"/menu", "")
	a.checkEdits(call)
	call(404, a.bob, "DELETE", here, chatAt, "")
	call(204, a.ann, "DELETE", here, chatAt, "")
	a.next("deleted", "web-a-known")
	for _, operation := range []string{"PATCH ", "DELETE ", "GET /export", "GET /messages", "POST /messages", "POST /press", "GET /menu", "PATCH /messages/{message}"} {
		method, path, _ := strings.Cut(operation, " ")
		call(410, a.ann, method, here+path, chatAt+path, `{"text": "late"}`)
	}
	for _, path := range []string{"/messages", "/sends"} { // by its key
		call(410, a.op, "POST", "/api/chats/web:web-a-known-to-nobody-else"+path, chatAt+path, `{"text": "late"}`)
	}
}

// checkEdits makes the edit of a message return every described answer.
func (a *api) checkEdits(call func(want int, as *http.Client, method, path, template, body string)) {
	const editAt = "/api/chats/{id}/messages/{message}"
	// sendMessage posts to a chat of its own.
	first, messages := a.sendMessage("first"), "/api/chats/web-first-known-to-nobody-else/messages/"
	call(202, a.ann, "PATCH", messages+first, editAt, `{"text": "newest", "client_id": "e1"}`)
	a.next("edited", "newest")
	call(400, a.ann, "PATCH", messages+first, editAt, `{"text": " "}`)
	call(404, a.ann, "PATCH", messages+"unknown", editAt, `{"text": "x"}`)
	call(413, a.ann, "PATCH", messages+first, editAt, `{"text": "`+strings.Repeat("x", 2<<20)+`"}`)
	a.sendMessage("first")
	call(409, a.ann, "PATCH", messages+first, editAt, `{"text": "older"}`)
}
