package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"nanobot/channels"
)

const (
	// maxDownload is what Telegram lets bots download; a Bot API server on this machine hands out more.
	maxDownload = 20 << 20
	// downloadTimeout and a second for every slowLine bytes bound a try to download a file.
	downloadTimeout = 2 * time.Minute
	slowLine        = 64 << 10
	// downloadGiveUp is how long a download is tried: an outage of Telegram's takes minutes. The chat waits as long.
	downloadGiveUp = 10 * time.Minute
	// unfinishedFile is what a file is called until it is complete.
	unfinishedFile = ".download-"
	// maxName keeps names, with what is put before them, below the 255 bytes that file systems allow.
	maxName = 200
)

// tooBig is a file that is bigger than it may be.
type tooBig struct{ most int64 }

func (e *tooBig) Error() string { return fmt.Sprintf("more than %d bytes", e.most) }

// rule says it to the sender.
func (e *tooBig) rule() string {
	if e.most == maxDownload {
		return "bots may download up to 20 MB"
	}
	return "files may have up to " + channels.HumanSize(e.most)
}

// within returns an error for what is bigger than the operator allows.
func (c *Channel) within(size int64) error {
	if most := c.o.MaxDownload; most > 0 && size > most {
		return &tooBig{most}
	}
	return nil
}

// download puts a file of a message on disk and returns its path.
func (c *Channel) download(ctx context.Context, chatID, message string, f *file) (string, error) {
	if err := c.within(f.Size); err != nil {
		return "", err
	}
	trouble := c.newTrouble("file not downloaded, will retry")
	var began time.Time // when the first try was made
	for {
		select {
		case c.fetch <- struct{}{}:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if began.IsZero() {
			began = time.Now()
		}
		path, err := c.downloadOnce(ctx, chatID, message, f)
		<-c.fetch // others go on while this one waits
		if err == nil || isFinal(err) || time.Since(began) > downloadGiveUp || !trouble.wait(ctx, err) {
			return path, err
		}
	}
}

// isFinal tells whether a download would fail again.
func isFinal(err error) bool {
	var no *refusal
	var big *tooBig
	var local *localError
	return errors.As(err, &big) || errors.As(err, &local) || errors.As(err, &no) && no.final()
}

// patience is how long a try may take for a file of a size, or of one that does not say.
func patience(size int64) time.Duration {
	if size <= 0 {
		size = maxDownload
	}
	return downloadTimeout + time.Duration(size/slowLine)*time.Second
}

func (c *Channel) downloadOnce(ctx context.Context, chatID, message string, f *file) (string, error) {
	var stored struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	ctx, cancel := context.WithTimeout(ctx, patience(f.Size))
	defer cancel()
	err := c.api.call(ctx, "getFile", map[string]any{"file_id": f.ID}, &stored)
	var no *refusal
	if errors.As(err, &no) && no.says("too big") {
		return "", &tooBig{maxDownload}
	}
	if err == nil {
		err = c.within(stored.Size)
	}
	if err != nil {
		return "", err
	}
	folder, err := c.folder(chatID)
	if err != nil {
		return "", err
	}
	name := strings.NewReplacer("/", "_", botMark, "_").Replace(message) + "-" + safeName(f.called(stored.Path), f.kind)
	if filepath.IsAbs(stored.Path) { // a local Bot API server, which has the file on this disk
		return c.adopt(stored.Path, folder, name)
	}
	path := filepath.Join(folder, name)
	if size, err := sizeOf(path); err == nil && size > 0 && size == stored.Size {
		return path, nil // downloaded before we died, or before it was quoted
	}
	return c.transfer(ctx, stored.Path, folder, name)
}

// folder returns where the files of a chat go. What an earlier run has left there unfinished is removed.
func (c *Channel) folder(chatID string) (string, error) {
	folder, err := c.o.Folder(chatID)
	if err != nil {
		return "", fmt.Errorf("folder of chat: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	c.names.Lock()
	defer c.names.Unlock()
	if c.cleared[folder] {
		return folder, nil
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), unfinishedFile) {
			_ = os.Remove(filepath.Join(folder, f.Name())) // it takes room and does no other harm
		}
	}
	c.cleared[folder] = true
	return folder, nil
}

// transfer streams a file into a folder. It appears under its name when it is complete.
func (c *Channel) transfer(ctx context.Context, stored, folder, name string) (string, error) {
	part, err := os.CreateTemp(folder, unfinishedFile+"*")
	if err != nil {
		return "", err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it has another name by then, or nobody needs it
	defer part.Close()
	most := int64(maxDownload)
	if c.o.MaxDownload > 0 {
		most = min(most, c.o.MaxDownload)
	}
	if err := c.api.get(ctx, stored, part, most); err != nil {
		return "", err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return "", err
	}
	return c.publish(part.Name(), folder, name)
}

// publish gives a complete file its name. If the same file has that name already, as when a message and a reply to it come
// together, that is the one.
func (c *Channel) publish(part, folder, name string) (string, error) {
	c.names.Lock()
	defer c.names.Unlock()
	ext := filepath.Ext(name)
	path := filepath.Join(folder, name)
	ours, err := sizeOf(part)
	if err != nil {
		return "", err
	}
	for i := 2; ; i++ {
		theirs, err := sizeOf(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			if err := os.Rename(part, path); err != nil {
				return "", err
			}
			return path, syncDir(folder)
		case err != nil:
			return "", err
		case ours == theirs:
			return path, nil
		}
		path = filepath.Join(folder, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext))
	}
}

// get streams a stored file, unless it is bigger than it may be.
func (a *api) get(ctx context.Context, stored string, to io.Writer, most int64) error {
	const method = "download"
	segments := strings.Split(stored, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/file/bot"+a.token+"/"+strings.Join(segments, "/"), nil)
	if err != nil {
		return a.silent(method, err, false)
	}
	resp, written, err := a.open(req)
	if err != nil {
		return a.silent(method, err, written)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &refusal{Method: method, Code: resp.StatusCode, Description: http.StatusText(resp.StatusCode)}
	}
	n, err := io.Copy(to, io.LimitReader(resp.Body, most+1))
	if err != nil {
		return a.silent(method, err, true)
	}
	if n > most {
		return &tooBig{most}
	}
	return nil
}

// sizeOf is how long a regular file is; -1 is something else.
func sizeOf(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return -1, err
	}
	return info.Size(), nil
}

// safeName makes a file name of what a sender calls a file: the last part of a path, without what terminals and shells
// stumble over, not too long, and with its extension.
func safeName(name, otherwise string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, " ")
	if strings.Trim(name, "._ ") == "" {
		return strings.ReplaceAll(otherwise, " ", "_")
	}
	if len(name) <= maxName {
		return name
	}
	ext := filepath.Ext(name)
	if len(ext) > 20 {
		ext = ""
	}
	stem := name[:maxName-len(ext)]
	for !utf8.ValidString(stem) {
		stem = stem[:len(stem)-1]
	}
	return stem + ext
}
