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
	// maxDownload is the largest accepted file. Some users may upload ten times as much.
	maxDownload = 50_000_000
	// downloadTimeout bounds a download with all its attempts.
	downloadTimeout = 2 * time.Minute
	downloadTries   = 3
)

// download saves a file and returns its path. It does not wait, because Discord's file URLs expire
// after a day.
func (c *Channel) download(ctx context.Context, chatID string, f attachment) (string, error) {
	if f.Size > maxDownload {
		return "", &httpclient.TooBigError{Limit: maxDownload}
	}
	folder, err := c.downloads.Open(chatID)
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // read-only handle
	name := f.ID.String() + "-" + downloads.SavedName(f.Name, "file")
	if path, ok := folder.Find(name, f.Size); ok {
		return path, nil
	}
	if err := c.downloadSlots.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer c.downloadSlots.Release(1)
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout) // only now: the wait for a slot does not count
	defer cancel()
	for try, pause := 1, time.Second/2; ; try, pause = try+1, 2*pause {
		saved, err := folder.Save(name, func(to io.Writer) error { return c.api.fetchAttachment(ctx, f.URL, to) })
		var apiErr *apiError
		var big *httpclient.TooBigError
		final := errors.As(err, &big) || downloads.IsRefusal(err) || errors.As(err, &apiErr) && apiErr.Status < 500 &&
			apiErr.Status != http.StatusTooManyRequests
		if err == nil || final || try == downloadTries || !httpclient.Sleep(ctx, max(pause, httpclient.RetryAfter(err))) {
			return saved.Path, err
		}
	}
}

// fetchAttachment streams a file. Its URL is signed and not part of Discord's API: the URL is kept
// out of errors, and the token is not sent there.
func (a *api) fetchAttachment(ctx context.Context, url string, to io.Writer) error {
	const name = "GET attachment"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &httpclient.NoResponseError{Name: name, Err: errors.New("no address to download from")}
	}
	req.Header.Set("User-Agent", userAgent)
	status, written, err := a.http.Download(req, to, maxDownload)
	var big *httpclient.TooBigError
	switch {
	case errors.As(err, &big):
		return err
	case err != nil:
		return &httpclient.NoResponseError{Name: name, Err: err, Written: written}
	case status != http.StatusOK:
		return &apiError{Name: name, Status: status, Message: http.StatusText(status)}
	}
	return nil
}
