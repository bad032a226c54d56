package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
)

// fileNote tells about a file that is sent along.
type fileNote struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
}

// postFiles makes a call with files when not too many others do.
func (c *Channel) postFiles(ctx context.Context, r route, m creation, files []channels.File) (sent, error) {
	var uploads []httpclient.Upload
	for i, f := range files {
		name := downloads.Name(strings.ToValidUTF8(f.Name, "_"), "file")
		m.Attachments = append(m.Attachments, fileNote{strconv.Itoa(i), name})
		uploads = append(uploads, httpclient.Upload{Field: "files[" + strconv.Itoa(i) + "]", Name: name, File: f})
	}
	c.api.limits.await(ctx, r) // others may send their files meanwhile
	select {
	case c.upload <- struct{}{}:
		defer func() { <-c.upload }()
	case <-ctx.Done():
		return sent{}, ctx.Err()
	}
	return c.api.upload(ctx, r, m, uploads)
}

// upload posts a message with files when its turn has come. It streams the files: the library would
// hold the whole request in memory.
func (a *api) upload(ctx context.Context, r route, m creation, files []httpclient.Upload) (sent, error) {
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
		return sent{}, fmt.Errorf("%s: %w", r.name, err)
	}
	defer body.Close()
	var s sent
	err = a.perform(ctx, r, &s, func(ctx context.Context) {
		req, err := body.Request(ctx, http.MethodPost, discordgo.EndpointChannelMessages(r.major))
		if err != nil {
			return
		}
		req.Header.Set("User-Agent", agent)
		if resp, err := a.client.Do(req); err == nil {
			resp.Body.Close()
		}
	})
	return s, err
}
