package receiving

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/updates"
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

// maxDownloads bounds connections and disk traffic across all chats.
const maxDownloads = 4

// downloader saves the files that people send.
type downloader struct {
	api      *botapi.Client
	folders  *downloads.Folders
	maxBytes int64 // the operator's limit; 0: none
	slots    *semaphore.Weighted
	log      *zap.Logger
}

// explainLimit returns the limit that a file exceeds as a text for its sender.
func explainLimit(e *httpclient.TooBigError, w words.Words) string {
	if e.Limit == maxDownload {
		return w.Text(words.FileBotsLimit)
	}
	return w.Text(words.FileOperatorLimit, channels.HumanSize(e.Limit))
}

// checkSize returns an error for a file above the operator's limit.
func (d *downloader) checkSize(size int64) error {
	if maxBytes := d.maxBytes; maxBytes > 0 && size > maxBytes {
		return &httpclient.TooBigError{Limit: maxBytes}
	}
	return nil
}

// download saves the file of a message and returns its path.
func (d *downloader) download(ctx context.Context, chatID, message string, f *updates.File) (string, error) {
	if err := d.checkSize(f.Size); err != nil {
		return "", err
	}
	retrier := httpclient.NewRetrier(d.log, "file not downloaded, will retry", httpclient.FirstDelay)
	var began time.Time // time of the first attempt
	for {
		if err := d.slots.Acquire(ctx, 1); err != nil {
			return "", err
		}
		if began.IsZero() {
			began = time.Now()
		}
		path, err := d.downloadOnce(ctx, chatID, message, f)
		d.slots.Release(1) // other downloads continue during the retry delay
		if err == nil || isPermanentFailure(err) || time.Since(began) > downloadGiveUp || !retrier.Wait(ctx, err) {
			return path, err
		}
	}
}

// isPermanentFailure reports whether a download would fail again.
func isPermanentFailure(err error) bool {
	var apiErr *botapi.Error
	var big *httpclient.TooBigError
	var local *localError
	return errors.As(err, &big) || errors.As(err, &local) || downloads.IsRefusal(err) ||
		errors.As(err, &apiErr) && apiErr.IsPermanent()
}

// attemptTimeout is the timeout of one attempt, by the size of the file if it is known.
func attemptTimeout(size int64) time.Duration {
	if size <= 0 {
		size = maxDownload
	}
	return downloadTimeout + time.Duration(size/minDownloadRate)*time.Second
}

func (d *downloader) downloadOnce(ctx context.Context, chatID, message string, f *updates.File) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(f.Size))
	defer cancel()
	stored, err := d.api.GetFile(ctx, f.ID)
	var apiErr *botapi.Error
	if errors.As(err, &apiErr) && apiErr.Mentions("too big") {
		return "", &httpclient.TooBigError{Limit: maxDownload}
	}
	if err == nil {
		err = d.checkSize(stored.Size)
	}
	if err != nil {
		return "", err
	}
	folder, err := d.folders.Open(chatID)
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // read-only handle
	name := strings.NewReplacer("/", "_", chats.BotSeparator, "_").Replace(message) + "-" +
		downloads.SavedName(f.DisplayName(stored.Path), strings.ReplaceAll(f.Kind, " ", "_"))
	if filepath.IsAbs(stored.Path) { // a local Bot API server stores the file on this disk
		return d.copyLocalFile(stored.Path, folder, name)
	}
	if path, ok := folder.Find(name, stored.Size); ok && stored.Size > 0 {
		return path, nil
	}
	maxBytes := int64(maxDownload)
	if d.maxBytes > 0 {
		maxBytes = min(maxBytes, d.maxBytes)
	}
	saved, err := folder.Save(name, func(to io.Writer) error { return d.api.Download(ctx, stored.Path, to, maxBytes) })
	return saved.Path, err
}

// localError is the error of copying a file of a local Bot API server. It has no path, because the
// path contains the token.
type localError struct{ err error }

func (e *localError) Error() string {
	return "use a file of the local Bot API server: " + e.err.Error()
}

func (d *downloader) localError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &localError{errors.New(d.api.Redact(err.Error()))}
}

// copyLocalFile copies a file of a local Bot API server into a chat's folder. The original path
// contains the token, so it is not passed on, and the file belongs to the server.
func (d *downloader) copyLocalFile(stored string, folder *downloads.Folder, name string) (string, error) {
	info, err := os.Lstat(stored)
	switch {
	case err != nil:
		return "", d.localError(err)
	case !info.Mode().IsRegular():
		return "", d.localError(errors.New("it is not a regular file"))
	}
	if err := d.checkSize(info.Size()); err != nil {
		return "", err
	}
	if path, ok := folder.Find(name, info.Size()); ok && info.Size() > 0 {
		return path, nil
	}
	from, err := os.Open(stored)
	if err != nil {
		return "", d.localError(err)
	}
	defer from.Close()
	saved, err := folder.Save(name, func(to io.Writer) error {
		if _, err := io.Copy(to, from); err != nil {
			return errors.New(d.api.Redact(err.Error()))
		}
		return nil
	})
	return saved.Path, err
}
