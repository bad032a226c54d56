package httpd

import (
	"net/http"
	"slices"

	"nanobot/internal/words"
)

// Standby returns a handler that refuses requests while standby reports that another member of the
// store serves them, except those about this program itself.
func Standby(c *words.Catalogue, standby func() bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !standby() || slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		texts := wordsFor(c, r)
		writeRefusal(w, r, texts, refusal{status: http.StatusServiceUnavailable, text: texts.Text(words.RefusedStandby)})
	})
}
