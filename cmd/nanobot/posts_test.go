package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// postAsOperator posts JSON with the token and returns the status and the answer.
func postAsOperator(t *testing.T, url, key, body string) string {
	t.Helper()
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	req.Header = http.Header{"Authorization": {"Bearer " + webToken}, "Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	resp := musttest.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	b := musttest.Get(io.ReadAll(resp.Body))(t)
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(b)))
}

func TestAnOperatorWritesToTheChatsOfANetworkWithoutThePage(t *testing.T) {
	listen := freeAddress(t)
	b := startBot(t, `{"terminal": {"command": "read -r text; echo \"re $text\""}, "channels": {"net": {"allowFrom": ["7"]}},
		"http": {"listen": "`+listen+`", "token": "`+webToken+`"}}`)
	b.awaitLog("ready")
	url := "http://" + listen + "/api/chats/"
	for _, want := range []string{`202 {"id":1}`, `200 {"id":1,"duplicate":true}`} {
		if got := postAsOperator(t, url+"net:never-seen/sends", "k", `{"text": "The **backup** is done."}`); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
	b.awaitText("never-seen", "backup")
	for _, want := range []string{`202 {"id":2}`, `200 {"id":2,"duplicate":true}`} {
		if got := postAsOperator(t, url+"net%3Anever-seen/messages", "k", `{"text": "what failed?"}`); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
	b.awaitText("never-seen", `"text":"what failed?"`)
	if calls := b.net.Sent("never-seen"); len(calls) != 2 {
		t.Errorf("sent are %+v", calls)
	}
	if got := postAsOperator(t, url+"net:7/sends", "", `{"text": "x", "buttons": [" "]}`); !strings.HasPrefix(got, "400 ") {
		t.Errorf("a button without a text: answered %s", got)
	}
	for path, want := range map[string]string{
		"web-a/sends":       `404 {"error":"no such channel is enabled: web"}`,
		"web-a/messages":    "404 404 page not found",
		"net:x/sends/":      "404 404 page not found",
		"matrix:x/messages": `404 {"error":"no such channel is enabled: matrix"}`,
	} {
		if got := postAsOperator(t, url+path, "", `{"text": "x"}`); got != want {
			t.Errorf("%s: answered %s, want %s", path, got, want)
		}
	}
}
