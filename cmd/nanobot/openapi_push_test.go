package main

import (
	"net/http"

	"nanobot/channels/web/push/pushtest"
)

// checkPush makes the operations of notifications return every described answer.
func (a *api) checkPush() {
	const path = "/api/push"
	b := pushtest.NewService(a.t).NewBrowser()
	call := func(want int, as *http.Client, method, body string) {
		a.t.Helper()
		a.request(want, apiRequest{as: as, method: method, path: path, kind: isJSON, body: body})
	}
	call(200, a.ann, "GET", "")
	call(204, a.ann, "POST", b.JSON(true))
	call(400, a.ann, "POST", "{}")
	call(400, a.ann, "DELETE", "")
	call(204, a.ann, "DELETE", b.JSON(false))
}
