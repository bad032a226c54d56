package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxDownload is the largest file that is taken. Some users may upload ten times as much.
	maxDownload = 50_000_000
	// downloadTimeout bounds a download with all its tries.
	downloadTimeout = 2 * time.Minute
	downloadTries   = 3
	// maxName keeps names, with what is put before them, below the 255 bytes that file systems allow.
	maxName = 200
)

var errTooBig = errors.New("too big")

// download puts a file on disk and returns its path. It is done at once: the addresses that Discord gives out are good for
// a day.
func (c *Channel) download(ctx context.Context, chatID string, f attachment) (string, error) {
	if f.Size > maxDownload {
		return "", errTooBig
	}
	folder, err := c.o.Folder(chatID)
	if err != nil {
		return "", fmt.Errorf("folder of chat: %w", err)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(folder, f.ID.String()+"-"+safeName(f.Name, "file"))
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
		return path, nil // downloaded before we died, or before it was quoted
	}
	select {
	case c.fetch <- struct{}{}:
		defer func() { <-c.fetch }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout) // not before: to wait for others is no fault of this file
	defer cancel()
	for try, pause := 1, time.Second/2; ; try, pause = try+1, 2*pause {
		err := c.transfer(ctx, f.URL, path)
		var no *refusal
		final := errors.Is(err, errTooBig) || errors.As(err, &no) && no.Status < 500 && no.Status != http.StatusTooManyRequests
		if err == nil || final || try == downloadTries || !sleep(ctx, max(pause, waitOf(err))) {
			return path, err
		}
	}
}

// transfer streams a file to its place. It appears under its name when it is complete. Its id is in its name, so it is
// the only one of that name.
func (c *Channel) transfer(ctx context.Context, url, path string) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".download-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it has another name by then, or nobody needs it
	defer part.Close()
	if err := c.api.get(ctx, url, part); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// get streams a file. Its address is signed and not Discord's API: neither is it shown, nor is our token sent there.
func (a *api) get(ctx context.Context, url string, to io.Writer) error {
	r := request{method: "GET", route: "attachment"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &silence{Name: r.name(), Err: errors.New("no address to download from")}
	}
	req.Header.Set("User-Agent", agent)
	resp, written, err := a.open(req)
	if err != nil {
		return a.silent(r, err, written)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &refusal{Name: r.name(), Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	}
	n, err := io.Copy(to, io.LimitReader(resp.Body, maxDownload+1))
	switch {
	case err != nil:
		return a.silent(r, err, true)
	case n > maxDownload:
		return errTooBig
	}
	return nil
}

// safeName makes a file name of what a sender calls a file: the last part of a path, without what terminals and shells
// stumble over, not too long, and with its extension.
func safeName(name, otherwise string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name))
	if strings.Trim(name, "._ ") == "" {
		return otherwise
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
