package httpd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"nanobot/internal/httpd"
	"nanobot/internal/wanttest"
)

func TestAMemberThatDoesNotLeadAsksToTryAgain(t *testing.T) {
	t.Parallel()
	standby := true
	h := httpd.Standby(nil, func() bool { return standby }, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "served")
	}))
	get := func(path, language string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", language)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const english = `{"error":"Another machine of this bot serves this. Please try again in a moment."}` + "\n"
	for path, want := range map[string]string{
		"/": english, "/hooks/ci": english, "/telegram/webhook": english, "/api/messages": english,
	} {
		status, body := get(path, "en")
		wanttest.Equal(t, "the status of "+path, status, http.StatusServiceUnavailable)
		wanttest.Equal(t, path, body, want)
	}
	_, body := get("/hooks/ci", "de")
	wanttest.Equal(t, "in German", body,
		`{"error":"Ein anderer Rechner dieses Bots ist dafür zuständig. Bitte versuche es gleich noch einmal."}`+"\n")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		status, _ := get(path, "en")
		wanttest.Equal(t, "the status of "+path, status, http.StatusOK)
	}
	standby = false
	status, _ := get("/readyz", "en")
	wanttest.Equal(t, "the status of the leader", status, http.StatusOK)
}
