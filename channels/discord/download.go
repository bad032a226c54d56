package discord

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
)

const (
	// maxDownload is the largest file that is taken. Some users may upload ten times as much.
	maxDownload = 50_000_000
	// downloadTimeout bounds a download with all its tries.
	downloadTimeout = 2 * time.Minute
	downloadTries   = 3
)

var errTooBig = errors.New("too big")

// download puts a file on disk and returns its path. It is done at once: the addresses that Discord
// gives out are good for a day.
func (c *Channel) download(ctx context.Context, chatID string, f attachment) (string, error) {
	if f.Size > maxDownload {
		return "", errTooBig
	}
	folder, err := c.downloads.Open(chatID)
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // it was only for its files
	name := f.ID.String() + "-" + downloads.Name(f.Name, "file")
	if path, ok := folder.Find(name, f.Size); ok {
		return path, nil
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
		path, err := folder.Save(name, func(to io.Writer) error { return c.api.get(ctx, f.URL, to) })
		var no *refusal
		final := errors.Is(err, errTooBig) || errors.As(err, &no) && no.Status < 500 && no.Status != http.StatusTooManyRequests
		if err == nil || final || try == downloadTries || !httpclient.Sleep(ctx, max(pause, waitOf(err))) {
			return path, err
		}
	}
}

// get streams a file. Its address is signed and not Discord's API: neither is it shown, nor is our
// token sent there.
func (a *api) get(ctx context.Context, url string, to io.Writer) error {
	const name = "GET attachment"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &silence{Name: name, Err: errors.New("no address to download from")}
	}
	req.Header.Set("User-Agent", agent)
	resp, written, err := a.http.Do(req)
	if err != nil {
		return &silence{Name: name, Err: withoutSecrets(err, a.token, req.URL), Written: written}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &refusal{Name: name, Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	}
	n, err := io.Copy(to, io.LimitReader(resp.Body, maxDownload+1))
	switch {
	case err != nil:
		return &silence{Name: name, Err: withoutSecrets(err, a.token, req.URL), Written: true}
	case n > maxDownload:
		return errTooBig
	}
	return nil
}
