package httpd

import (
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"go.uber.org/zap"
)

// bodyPatience is how long a request's body may take, unless its handler knows better.
const bodyPatience = 30 * time.Second

// survive keeps a handler that panics from ending the connection without a word, and says it in the log.
func survive(next http.Handler, log *zap.Logger) http.Handler {
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
			log.Error("request handler panicked", zap.String("path", r.URL.Path), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			if seen.wrote {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
			http.Error(w, "internal error", http.StatusInternalServerError)
		}()
		if r.ContentLength != 0 { // or what is refused unread would be waited for without end; a handler that reads on sets its own
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyPatience))
		}
		next.ServeHTTP(seen, r)
	})
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
