package httpd

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"
)

// survive keeps a handler that panics from ending the connection without a word, and says it in the
// log. A request's body may take as long as patience, unless the handler knows better.
func survive(next http.Handler, patience time.Duration, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &observed{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // which is how a handler cuts a connection
			}
			log.Error("request handler panicked", zap.String("path", loggable(r.URL.Path)), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			if seen.wrote {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
			http.Error(w, "internal error", http.StatusInternalServerError)
		}()
		if r.ContentLength != 0 { // or what is refused unread would be waited for without end; a handler that reads on sets its own
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
		}
		next.ServeHTTP(seen, r)
	})
}

// loggable is a path without the code of a link.
func loggable(path string) string {
	if strings.HasPrefix(path, EnterPath) {
		return EnterPath + "…"
	}
	return path
}

// observed knows whether an answer was begun.
type observed struct {
	http.ResponseWriter
	wrote bool
}

func (o *observed) WriteHeader(status int) {
	o.wrote = o.wrote || status >= http.StatusOK
	o.ResponseWriter.WriteHeader(status)
}

func (o *observed) Write(b []byte) (int, error) {
	o.wrote = true
	return o.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }
