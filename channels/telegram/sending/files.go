package sending

import (
	"bytes"
	"errors"
	"image"
	_ "image/jpeg" // formats whose size is looked up
	_ "image/png"
	"io"
	"os"
	"strings"

	"nanobot/channels"
	"nanobot/channels/downloads"
)

// fileName returns a file name that is valid in a form header.
func fileName(f channels.File) string {
	return strings.ToValidUTF8(downloads.Name(f.Name, "file"), "_")
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
