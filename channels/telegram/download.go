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
)

const (
	// maxDownload is what Telegram lets bots download; a Bot API server on this machine hands out
	// more.
	maxDownload = 20 << 20
	// downloadTimeout and a second for every slowLine bytes bound a try to download a file.
	downloadTimeout = 2 * time.Minute
	slowLine        = 64 << 10
	// downloadGiveUp is how long a download is tried: an outage of Telegram's takes minutes. The
	// chat waits as long.
	downloadGiveUp = 10 * time.Minute
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
	retrier := c.newRetrier("file not downloaded, will retry")
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
		if err == nil || isFinal(err) || time.Since(began) > downloadGiveUp || !retrier.Wait(ctx, err) {
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
	ctx, cancel := context.WithTimeout(ctx, patience(f.Size))
	defer cancel()
	stored, err := c.api.getFile(ctx, f.ID)
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
	folder, err := c.downloads.Open(chatID)
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // it was only for its files
	name := strings.NewReplacer("/", "_", botMark, "_").Replace(message) + "-" + downloads.Name(f.called(stored.Path), strings.ReplaceAll(f.kind, " ", "_"))
	if filepath.IsAbs(stored.Path) { // a local Bot API server, which has the file on this disk
		return c.adopt(stored.Path, folder, name)
	}
	if path, ok := folder.Find(name, stored.Size); ok && stored.Size > 0 {
		return path, nil
	}
	most := int64(maxDownload)
	if c.o.MaxDownload > 0 {
		most = min(most, c.o.MaxDownload)
	}
	return folder.Save(name, func(to io.Writer) error { return c.api.get(ctx, stored.Path, to, most) })
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
	resp, written, err := a.http.Do(req)
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
