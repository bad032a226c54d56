package web

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/channels"
)

const (
	// maxName is how many characters the bot's name has, and maxPicture how many bytes its picture.
	maxName    = 60
	maxPicture = 1 << 20
	// picturePath is the path of the bot's picture on the server.
	picturePath = "/picture"
)

// loadPicture reads the picture of the bot.
func loadPicture(path string) (asset, error) {
	f, err := os.Open(path)
	if err != nil {
		return asset{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err != nil {
		return asset{}, err
	}
	if len(content) > maxPicture {
		return asset{}, fmt.Errorf("%s is larger than %s", path, channels.HumanSize(maxPicture))
	}
	kind := mimetype.Detect(content).String()
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, kind) {
		return asset{}, errors.New(path + " is not a PNG, JPEG, WebP or GIF picture")
	}
	a, err := newAsset("picture", string(content))
	a.contentType = kind
	return a, err
}
