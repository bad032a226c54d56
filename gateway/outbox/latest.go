package outbox

import "sync"

// latest are changes that are being shown, by what they change. Each key has one goroutine, which
// shows its latest change, so that changes arrive in order and outdated ones are skipped.
type latest[K comparable, V any] struct {
	mu      sync.Mutex
	pending map[K]V // not shown yet
	showing map[K]bool
}

// add sets the change that is to be shown next. It reports whether the caller must start the
// goroutine of the key. A change beyond the limit of goroutines is dropped.
func (l *latest[K, V]) add(key K, value V, limit int) (start bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		l.pending, l.showing = map[K]V{}, map[K]bool{}
	}
	start = !l.showing[key]
	if start && len(l.showing) >= limit {
		return false
	}
	l.pending[key], l.showing[key] = value, true
	return start
}

// next returns the change that is to be shown. It reports false if there is none, and then the key
// has no goroutine any more.
func (l *latest[K, V]) next(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok := l.pending[key]
	if !ok {
		delete(l.showing, key)
	}
	delete(l.pending, key)
	return value, ok
}

// hasNext reports whether a newer change is to be shown.
func (l *latest[K, V]) hasNext(key K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.pending[key]
	return ok
}
