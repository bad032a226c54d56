package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
)

// attachmentName names an uploaded file.
type attachmentName struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
}

// postFiles makes a call with files when an upload slot is free.
func (c *Channel) postFiles(ctx context.Context, call messageCall, files []channels.File) (messageResponse, error) {
	var names []attachmentName
	var uploads []httpclient.Upload
	for i, f := range files {
		name := downloads.Name(strings.ToValidUTF8(f.Name, "_"), "file")
		names = append(names, attachmentName{strconv.Itoa(i), name})
		uploads = append(uploads, httpclient.Upload{Field: "files[" + strconv.Itoa(i) + "]", Name: name, File: f})
	}
	c.api.limits.awaitBucket(ctx, call.route) // before taking a slot, so that other chats can use it
	if err := c.uploadSlots.Acquire(ctx, 1); err != nil {
		return messageResponse{}, err
	}
	defer c.uploadSlots.Release(1)
	return c.api.upload(ctx, call, call.body(names), uploads)
}

// upload posts a message with files once the rate limit allows. It streams the files: the library
// would hold the whole request in memory.
func (a *api) upload(ctx context.Context, call messageCall, m any, files []httpclient.Upload) (messageResponse, error) {
	body, err := httpclient.NewForm(func(w *multipart.Writer) error {
		head := textproto.MIMEHeader{}
		head.Set("Content-Disposition", `form-data; name="payload_json"`)
		head.Set("Content-Type", "application/json")
		part, err := w.CreatePart(head)
		if err != nil {
			return err
		}
		return json.NewEncoder(part).Encode(m)
	}, files)
	if err != nil {
		return messageResponse{}, fmt.Errorf("%s: %w", call.route.name, err)
	}
	defer body.Close()
	var s messageResponse
	err = a.callWithPermit(ctx, call.route, &s, func(ctx context.Context) {
		req, err := body.Request(ctx, call.method, call.url)
		if err != nil {
			return
		}
		req.Header.Set("User-Agent", userAgent)
		if resp, err := a.client.Do(req); err == nil {
			resp.Body.Close()
		}
	})
	return s, err
}
