package downloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/internal/words"
)

// ChatFullError is the error of a file with which the received files of a chat would exceed their
// limit.
type ChatFullError struct{ Limit int64 }

func (e *ChatFullError) Error() string {
	return fmt.Sprintf("the received files of the chat would have more than %d bytes", e.Limit)
}

// Refusal returns the reason for which Save has refused a file, as words.FileNotReceived has it. It
// reports false for other errors, after which another attempt may succeed.
func Refusal(err error, w words.Words) (reason string, ok bool) {
	var full *ChatFullError
	switch {
	case errors.As(err, &full):
		return w.Text(words.FileChatFull, channels.HumanSize(full.Limit)), true
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return w.Text(words.FileNoSpace), true
	}
	return "", false
}

// IsRefusal reports whether Save has refused a file.
func IsRefusal(err error) bool {
	_, ok := Refusal(err, words.Words{})
	return ok
}

// chatUsage is how many bytes the received files of a chat have. It is protected by Folders.mu.
type chatUsage struct {
	counted  bool  // recorded is known
	recorded int64 // of complete files; those that were removed since the last count are included
	writing  int64 // of files that are being written
}

// usageOf returns the usage of the folder's chat. The caller holds Folders.mu.
func (f *Folder) usageOf() *chatUsage {
	u := f.all.usage[f.chat]
	if u == nil {
		u = &chatUsage{}
		f.all.usage[f.chat] = u
	}
	return u
}

// limitedWriter writes a file within the limit of its chat.
type limitedWriter struct {
	to      io.Writer
	folder  *Folder
	written int64
	kept    bool
	err     error // the first error
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.err == nil {
		w.err = w.folder.reserve(int64(len(b)))
	}
	if w.err != nil {
		return 0, w.err
	}
	w.written += int64(len(b))
	n, err := w.to.Write(b)
	w.err = err
	return n, err
}

// countComplete counts the file as complete. The caller holds Folders.mu.
func (w *limitedWriter) countComplete() {
	w.kept = true
	u := w.folder.usageOf()
	u.writing -= w.written
	u.recorded += w.written
}

// release gives back the bytes of a file that was not saved.
func (w *limitedWriter) release() {
	w.folder.all.mu.Lock()
	defer w.folder.all.mu.Unlock()
	if !w.kept {
		w.folder.usageOf().writing -= w.written
	}
}

// reserve counts n bytes that are about to be written, or returns a ChatFullError.
func (f *Folder) reserve(n int64) error {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	u := f.usageOf()
	var limit int64
	if f.all.files != nil {
		limit = f.all.files.MaxBytes()
	}
	if limit > 0 && (!u.counted || u.recorded+u.writing+n > limit) {
		if err := f.count(u); err != nil {
			return err
		}
		if u.recorded+u.writing+n > limit {
			return &ChatFullError{limit}
		}
	}
	u.writing += n
	return nil
}

// count counts the recorded files that still exist, and removes the records of others.
func (f *Folder) count(u *chatUsage) error {
	ctx := context.Background()
	records, err := f.all.files.ListRecords(ctx, chatPrefix(f.chat))
	if err != nil {
		return fmt.Errorf("count the files of the chat: %w", err)
	}
	u.recorded, u.counted = 0, true
	gone := map[string]string{}
	for key, value := range records {
		r, err := parseRecord(key, value)
		if err != nil {
			continue
		}
		if _, err := f.root.Lstat(r.name); errors.Is(err, fs.ErrNotExist) {
			gone[key] = ""
		} else {
			u.recorded += r.Size
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return f.all.files.SaveRecords(ctx, gone)
}

// recordPrefix starts the keys of the records of received files. The escaped chat, a slash and the
// name of the file follow.
const recordPrefix = "file:"

func chatPrefix(chat string) string { return recordPrefix + url.PathEscape(chat) + "/" }

// record is what is stored about a received file. It does not contain the path of the folder, so
// that the workspace can be moved.
type record struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	At     int64  `json:"at"` // when it was received, in Unix seconds

	key, chat, name string
}

func parseRecord(key, value string) (r record, err error) {
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return r, fmt.Errorf("read record %s: %w", key, err)
	}
	chat, name, _ := strings.Cut(strings.TrimPrefix(key, recordPrefix), "/")
	r.key, r.name = key, name
	r.chat, err = url.PathUnescape(chat)
	if err == nil && (name == "" || name != filepath.Base(name)) {
		err = fmt.Errorf("%q is not the name of a file", name)
	}
	return r, err
}

// record stores the record of a file.
func (f *Folder) record(name string, file File, at time.Time) error {
	if f.all.files == nil {
		return nil
	}
	value, err := json.Marshal(record{Size: file.Size, SHA256: file.SHA256, At: at.Unix()})
	if err == nil {
		err = f.all.files.SaveRecords(context.Background(), map[string]string{chatPrefix(f.chat) + name: string(value)})
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}

// forget removes the record of a file.
func (f *Folder) forget(name string) error {
	if f.all.files == nil {
		return nil
	}
	return f.all.files.SaveRecords(context.Background(), map[string]string{chatPrefix(f.chat) + name: ""})
}

// ForgetRecords removes the records of received files of a chat, by their names; nil: of all.
func ForgetRecords(ctx context.Context, records channels.FileRecords, chat channels.Chat, names []string) error {
	prefix := chatPrefix(New(chat.Channel, nil).account + chat.ID)
	gone := map[string]string{}
	if names == nil {
		values, err := records.ListRecords(ctx, prefix)
		if err != nil {
			return err
		}
		for key := range values {
			gone[key] = ""
		}
	}
	for _, name := range names {
		gone[prefix+name] = ""
	}
	return records.SaveRecords(ctx, gone)
}
