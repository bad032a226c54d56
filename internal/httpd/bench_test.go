package httpd_test

import (
	"net/http"
	"testing"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
)

// BenchmarkSignedIn is what it costs to look up that a browser is still signed in.
func BenchmarkSignedIn(b *testing.B) {
	s := musttest.Get(sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{}))(b)
	defer s.Close()
	access := musttest.Get(httpd.NewAccess(b.Context(), httpd.Options{Records: s}))(b)
	values := musttest.Get(s.ListRecords(b.Context(), "http/key"))(b)
	h := access.Require(httpd.Chat, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	in := header{"Cookie": signedCookie(b, values["http/key"], "chat.ann.9999999999.S")}
	for b.Loop() {
		if serve(h, "GET", in).Code != http.StatusOK {
			b.Fatal("not let in")
		}
	}
}
