package httpd_test

import (
	"net/http"
	"testing"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
)

// BenchmarkSignedIn is what it costs to look up that a browser is still signed in.
func BenchmarkSignedIn(b *testing.B) {
	s, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	access, err := httpd.NewAccess(b.Context(), httpd.Options{Records: s})
	if err != nil {
		b.Fatal(err)
	}
	values, err := s.ListRecords(b.Context(), "http/key")
	if err != nil {
		b.Fatal(err)
	}
	h := access.Require(httpd.Chat, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	in := header{"Cookie": signedCookie(b, values["http/key"], "chat.ann.9999999999.S")}
	for b.Loop() {
		if serve(h, "GET", in).Code != http.StatusOK {
			b.Fatal("not let in")
		}
	}
}
