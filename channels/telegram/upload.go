package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // formats whose size is looked up
	_ "image/png"
	"io"
	"maps"
	"mime/multipart"
	"os"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
)

// upload makes a call with files.
func (a *api) upload(ctx context.Context, method string, params any, files []httpclient.Upload) (*callRecord, error) {
	fields, err := formFields(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	form, err := httpclient.NewForm(func(w *multipart.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if err := w.WriteField(name, fields[name]); err != nil {
				return err
			}
		}
		return nil
	}, files)
	if wait := a.pace.waitOverall(ctx, max(len(files), 1)); err == nil && wait != nil {
		form.Close()
		return nil, wait
	}
	return a.postByHand(ctx, method, form, err)
}

// fileName returns a file name that is valid in a form header.
func fileName(f channels.File) string {
	return strings.ToValidUTF8(downloads.Name(f.Name, "file"), "_")
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

// checkSendAs returns how a file can be sent, by its content.
func checkSendAs(as string, f channels.File) (string, error) {
	switch as {
	case asOgg:
		if opus, err := isOpus(f); err != nil || opus {
			return asVoice, err
		}
		return asDocument, nil
	case asPhoto:
		if ok, err := isPhoto(f); err != nil || ok {
			return asPhoto, err
		}
		return asDocument, nil
	}
	if f.Path == "" {
		return as, nil
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return as, err
	}
	return as, file.Close()
}

// isOpus reports whether Telegram plays an Ogg file as a voice message: its first page names the
// codec.
func isOpus(f channels.File) (bool, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Contains(head[:n], []byte("OpusHead")), nil
}

// isPhoto reports whether a picture has the dimensions of a photo: width and height of at most
// 10000 in total, and a ratio of at most 20. For an unknown format Telegram decides.
func isPhoto(f channels.File) (bool, error) {
	var from io.Reader = strings.NewReader(f.Content)
	if f.Path != "" {
		file, err := os.Open(f.Path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		from = file
	}
	size, _, err := image.DecodeConfig(from)
	if err != nil {
		return true, nil // see above
	}
	w, h := size.Width, size.Height
	return w+h <= 10000 && w <= 20*h && h <= 20*w, nil
}
