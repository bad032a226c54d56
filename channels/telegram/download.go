package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/internal/words"
)

const (
	// maxDownload is Telegram's download limit for bots. A local Bot API server has a higher one.
	maxDownload = 20 << 20
	// An attempt may take downloadTimeout, plus a second for every minDownloadRate bytes.
	downloadTimeout = 2 * time.Minute
	minDownloadRate = 64 << 10
	// downloadGiveUp bounds all attempts, during which the chat waits. An outage of Telegram takes
	// minutes.
	downloadGiveUp = 10 * time.Minute
)

// tooBigError is the error of a file above the size limit.
type tooBigError struct{ limit int64 }

func (e *tooBigError) Error() string { return fmt.Sprintf("more than %d bytes", e.limit) }

// explain returns the limit as a text for the sender.
func (e *tooBigError) explain(w words.Words) string {
	if e.limit == maxDownload {
		return w.Text(words.FileBotsLimit)
	}
	return w.Text(words.FileOperatorLimit, channels.HumanSize(e.limit))
}

// checkSize returns an error for a file above the operator's limit.
func (c *Channel) checkSize(size int64) error {
	if maxBytes := c.o.MaxDownload; maxBytes > 0 && size > maxBytes {
		return &tooBigError{maxBytes}
	}
	return nil
}

// download saves the file of a message and returns its path.
func (c *Channel) download(ctx context.Context, chatID, message string, f *file) (string, error) {
	if err := c.checkSize(f.Size); err != nil {
		return "", err
	}
	retrier := c.newRetrier("file not downloaded, will retry")
	var began time.Time // time of the first attempt
	for {
		select {
		case c.downloadSlots <- struct{}{}:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if began.IsZero() {
			began = time.Now()
		}
		path, err := c.downloadOnce(ctx, chatID, message, f)
		<-c.downloadSlots // other downloads continue during the retry delay
		if err == nil || isPermanentFailure(err) || time.Since(began) > downloadGiveUp || !retrier.Wait(ctx, err) {
			return path, err
		}
	}
}

// isPermanentFailure reports whether a download would fail again.
func isPermanentFailure(err error) bool {
	var apiErr *apiError
	var big *tooBigError
	var local *localError
	return errors.As(err, &big) || errors.As(err, &local) || downloads.IsRefusal(err) || errors.As(err, &apiErr) && apiErr.isPermanent()
}

// attemptTimeout is the timeout of one attempt, by the size of the file if it is known.
func attemptTimeout(size int64) time.Duration {
	if size <= 0 {
		size = maxDownload
	}
	return downloadTimeout + time.Duration(size/minDownloadRate)*time.Second
}

func (c *Channel) downloadOnce(ctx context.Context, chatID, message string, f *file) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(f.Size))
	defer cancel()
	stored, err := c.api.getFile(ctx, f.ID)
	var apiErr *apiError
	if errors.As(err, &apiErr) && apiErr.mentions("too big") {
		return "", &tooBigError{maxDownload}
	}
	if err == nil {
		err = c.checkSize(stored.Size)
	}
	if err != nil {
		return "", err
	}
	folder, err := c.downloads.Open(chatID)
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // read-only handle
	name := strings.NewReplacer("/", "_", botSeparator, "_").Replace(message) + "-" + downloads.SavedName(f.displayName(stored.Path), strings.ReplaceAll(f.kind, " ", "_"))
	if filepath.IsAbs(stored.Path) { // a local Bot API server stores the file on this disk
		return c.copyLocalFile(stored.Path, folder, name)
	}
	if path, ok := folder.Find(name, stored.Size); ok && stored.Size > 0 {
		return path, nil
	}
	maxBytes := int64(maxDownload)
	if c.o.MaxDownload > 0 {
		maxBytes = min(maxBytes, c.o.MaxDownload)
	}
	saved, err := folder.Save(name, func(to io.Writer) error { return c.api.streamFile(ctx, stored.Path, to, maxBytes) })
	return saved.Path, err
}

// streamFile streams a stored file, up to a limit.
func (a *api) streamFile(ctx context.Context, stored string, to io.Writer, maxBytes int64) error {
	const method = "download"
	segments := strings.Split(stored, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/file/bot"+a.token+"/"+strings.Join(segments, "/"), nil)
	if err != nil {
		return a.noResponse(method, err, false)
	}
	resp, written, err := a.http.Do(req)
	if err != nil {
		return a.noResponse(method, err, written)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &apiError{Method: method, Code: resp.StatusCode, Description: http.StatusText(resp.StatusCode)}
	}
	n, err := io.Copy(to, io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return a.noResponse(method, err, true)
	}
	if n > maxBytes {
		return &tooBigError{maxBytes}
	}
	return nil
}
