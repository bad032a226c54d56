package botapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels/httpclient"
)

// Upload makes a call with files, and returns the ID of the sent message; for an album, of the
// first.
func (c *Client) Upload(ctx context.Context, method string, params any, files []httpclient.Upload) (int, error) {
	fields, err := formFields(params)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	returned, err := c.pace.WaitOverall(ctx, max(len(files), 1))
	if err != nil {
		return 0, err
	}
	defer returned()
	form, err := httpclient.NewForm(func(w *multipart.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if err := w.WriteField(name, fields[name]); err != nil {
				return err
			}
		}
		return nil
	}, files)
	got, err := c.postByHand(ctx, method, form, err)
	if err != nil {
		return 0, err
	}
	return c.sentID(got)
}

// formFields encodes parameters as form fields: strings unchanged, everything else as JSON.
func formFields(params any) (map[string]string, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &raw); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, value := range raw {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		fields[name] = text
	}
	return fields, nil
}

// StoredFile is a downloadable file.
type StoredFile struct {
	Path string `json:"file_path"`
	Size int64  `json:"file_size"`
}

// GetFile returns where a file can be downloaded.
func (c *Client) GetFile(ctx context.Context, id string) (*StoredFile, error) {
	return query[StoredFile](ctx, c, func(ctx context.Context) (*models.File, error) {
		return c.bot.GetFile(ctx, &bot.GetFileParams{FileID: id})
	})
}

// Download streams a stored file. One with more than maxBytes is an httpclient.TooBigError.
func (c *Client) Download(ctx context.Context, stored string, to io.Writer, maxBytes int64) error {
	const method = "download"
	segments := strings.Split(stored, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/file/bot"+c.token+"/"+strings.Join(segments, "/"),
		nil)
	if err != nil {
		return c.noResponse(method, err, false)
	}
	status, written, err := c.transport.http.Download(req, to, maxBytes)
	var big *httpclient.TooBigError
	switch {
	case errors.As(err, &big):
		return err
	case err != nil:
		return c.noResponse(method, err, written)
	case status != http.StatusOK:
		return &Error{Method: method, Code: status, Description: http.StatusText(status)}
	}
	return nil
}
