package web

import (
	"sync"

	"nanobot/channels/web/history"
)

const (
	// mostRendered is how many bytes of rendered messages are kept, twice: reading Markdown costs
	// more than all else about an old message.
	mostRendered = 2 << 20
	// perRendered is about what each of them takes beside its text.
	perRendered = 128
)

// rendered keeps what messages were rendered to, those that were asked for last.
type rendered struct {
	mu       sync.Mutex
	now, old map[int64]string // old is what now was when it was full
	size     int              // of now
}

// of renders an event, which never changes.
func (r *rendered) of(seq int64, b history.Body) string {
	if html, ok := r.get(seq); ok {
		return html
	}
	html := renderBody(b.Text, b.Terminal)
	r.put(seq, html)
	return html
}

func (r *rendered) get(seq int64) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	html, ok := r.now[seq]
	if !ok {
		html, ok = r.old[seq]
	}
	return html, ok
}

func (r *rendered) put(seq int64, html string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size += len(html) + perRendered; r.now == nil || r.size > mostRendered {
		r.now, r.old, r.size = map[int64]string{}, r.now, len(html)+perRendered
	}
	r.now[seq] = html
}
