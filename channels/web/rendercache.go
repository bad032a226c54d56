package web

import (
	"sync"

	"nanobot/channels/web/history"
)

const (
	// maxCacheBytes bounds each of the two generations of cached HTML. Parsing Markdown is the most
	// expensive part of serving an old message.
	maxCacheBytes = 2 << 20
	// entryOverhead is about what an entry takes besides its HTML, in bytes.
	entryOverhead = 128
)

// renderCache caches the HTML of the messages that were requested last.
type renderCache struct {
	mu           sync.Mutex
	newer, older map[int64]string // older is the former newer, which was full
	size         int              // bytes in newer
}

// html returns the HTML of an event. Events never change, so entries never expire.
func (r *renderCache) html(seq int64, b history.Body) string {
	if html, ok := r.lookup(seq); ok {
		return html
	}
	html := renderBody(b)
	r.add(seq, html)
	return html
}

func (r *renderCache) lookup(seq int64) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	html, ok := r.newer[seq]
	if !ok {
		html, ok = r.older[seq]
	}
	return html, ok
}

func (r *renderCache) add(seq int64, html string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size += len(html) + entryOverhead; r.newer == nil || r.size > maxCacheBytes {
		r.newer, r.older, r.size = map[int64]string{}, r.newer, len(html)+entryOverhead
	}
	r.newer[seq] = html
}
