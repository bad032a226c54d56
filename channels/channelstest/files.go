package channelstest

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"nanobot/channels"
)

// Files implements channels.ReceivedFiles for a channel under test. It outlives the channel, as a
// store does.
type Files struct {
	mu       sync.Mutex
	maxBytes int64
	records  map[string]string
	onSave   func(key, value string)
}

var _ channels.ReceivedFiles = (*Files)(nil)

// NewFiles returns records without a limit.
func NewFiles() *Files { return &Files{records: map[string]string{}} }

// SetMaxBytes sets the limit of a chat.
func (f *Files) SetMaxBytes(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maxBytes = n
}

// OnSave sets a function that is called with each change.
func (f *Files) OnSave(do func(key, value string)) { f.onSave = do }

// SetReceived changes the time at which a file was received.
func (f *Files) SetReceived(key string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var r map[string]any
	if err := json.Unmarshal([]byte(f.records[key]), &r); err != nil {
		panic(err)
	}
	r["at"] = at.Unix()
	value, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	f.records[key] = string(value)
}

// MaxBytes returns the limit of a chat.
func (f *Files) MaxBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxBytes
}

// ListRecords returns the records with a prefix.
func (f *Files) ListRecords(_ context.Context, prefix string) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := maps.Clone(f.records)
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, prefix) })
	return all, nil
}

// SaveRecords replaces records.
func (f *Files) SaveRecords(_ context.Context, values map[string]string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, value := range values {
		if f.records[key] = value; value == "" {
			delete(f.records, key)
		}
		if f.onSave != nil {
			f.onSave(key, value)
		}
	}
	return nil
}
