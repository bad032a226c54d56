package telegram_test

import (
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The routes that a request takes from the channel to the network.
const byLibrary, byHand = "by the library", "by hand"

// download is the name under which the download of a file is recorded.
const download = "download"

// uploads are the methods that send files. The channel writes those requests by hand, because the
// library holds files in memory; see TestAnUploadIsStreamed.
var uploads = []string{"sendPhoto", "sendVideo", "sendAnimation", "sendAudio", "sendVoice", "sendDocument", "sendMediaGroup"}

// routeOf returns the method that a request calls, and the route that the request has taken. It is
// called by a RoundTripper, which http.Client calls on the goroutine of its caller. An error is a
// request that should have come through the library.
func routeOf(req *http.Request) (method, route string, err error) {
	method = path.Base(req.URL.Path)
	switch {
	case throughLibrary():
		return method, byLibrary, nil
	case req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/file/bot"):
		return download, byHand, nil
	case method == "getUpdates": // library_loop_test.go shows what the library's loop loses
		return method, byHand, nil
	case slices.Contains(uploads, method) && hasFile(req):
		return method, byHand, nil
	}
	return method, "", fmt.Errorf("%s did not come through the library", method)
}

// throughLibrary reports whether a method of the library's Bot is among the callers.
func throughLibrary() bool {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "github.com/go-telegram/bot.(*Bot).") {
			return true
		}
		if !more {
			return false
		}
	}
}

// hasFile reports whether a request is a form with a file.
func hasFile(req *http.Request) bool {
	kind, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	for form := multipart.NewReader(body, params["boundary"]); ; {
		part, err := form.NextPart()
		if err != nil {
			return false
		}
		if part.FileName() != "" {
			return true
		}
	}
}

// routes is a network that records the route of each request, and fails the test for a request that
// should have come through the library.
type routes struct {
	*http.Transport
	t testing.TB

	mu   sync.Mutex
	seen map[string]string // by method
}

// newRoutes returns a network of its own, which is closed when the test ends.
func newRoutes(t testing.TB) *routes {
	t.Helper()
	r := &routes{Transport: &http.Transport{}, t: t, seen: map[string]string{}}
	t.Cleanup(r.CloseIdleConnections)
	return r
}

func (r *routes) RoundTrip(req *http.Request) (*http.Response, error) {
	method, route, err := routeOf(req)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.seen[method] = route
	r.mu.Unlock()
	return r.Transport.RoundTrip(req)
}

// routes returns the route of each method that was called.
func (r *routes) routes() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}
