package httpd

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"
)

// recoverPanics answers 500 and logs the stack when a handler panics. It also limits how long a
// request's body may take, unless the handler sets its own deadline.
func recoverPanics(next http.Handler, bodyTimeout time.Duration, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &observedWriter{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // the way for a handler to close the connection
			}
			log.Error("request handler panicked", zap.String("path", redactPath(r.URL.Path)), zap.Any("panic", p),
				zap.ByteString("stack", debug.Stack()))
			if seen.wrote {
				panic(http.ErrAbortHandler) // a partial response must not look complete
			}
			http.Error(w, "internal error", http.StatusInternalServerError)
		}()
		if r.ContentLength != 0 { // the server also reads the rest of a body that the handler did not read
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		next.ServeHTTP(seen, r)
	})
}

// redactPath returns a path without the code of a link.
func redactPath(path string) string {
	if strings.HasPrefix(path, EnterPath) {
		return EnterPath + "…"
	}
	return path
}

// observedWriter records whether the response has started.
type observedWriter struct {
	http.ResponseWriter
	wrote bool
}

func (o *observedWriter) WriteHeader(status int) {
	o.wrote = o.wrote || status >= http.StatusOK
	o.ResponseWriter.WriteHeader(status)
}

func (o *observedWriter) Write(b []byte) (int, error) {
	o.wrote = true
	return o.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (o *observedWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }
