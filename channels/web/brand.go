package web

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"slices"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/image/draw"

	"nanobot/channels"
	"nanobot/channels/web/page"
)

const (
	// maxName is how many characters the bot's name has, and maxPicture how many bytes its picture.
	maxName    = 60
	maxPicture = 1 << 20
	// maxPixels bounds the memory for the icons of the app: 4 bytes for each pixel of the picture.
	maxPixels = 16 << 20
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

// newIcons returns the icons of the installed app by path, drawn from the picture of the bot, and
// none if it cannot be decoded. They are square, and the picture fits in the middle.
func newIcons(picture string) map[string]asset {
	c, _, err := image.DecodeConfig(bytes.NewReader([]byte(picture)))
	if err != nil || c.Width*c.Height > maxPixels {
		return nil
	}
	source, _, err := image.Decode(bytes.NewReader([]byte(picture)))
	if err != nil {
		return nil
	}
	icons := map[string]asset{}
	for name, size := range page.IconSizes {
		longer := max(c.Width, c.Height)
		width, height := max(1, c.Width*size/longer), max(1, c.Height*size/longer)
		corner := image.Pt((size-width)/2, (size-height)/2)
		icon := image.NewRGBA(image.Rect(0, 0, size, size))
		into := image.Rectangle{Min: corner, Max: corner.Add(image.Pt(width, height))}
		draw.CatmullRom.Scale(icon, into, source, source.Bounds(), draw.Src, nil)
		var encoded bytes.Buffer
		if err := png.Encode(&encoded, icon); err != nil {
			return nil
		}
		if icons["/"+name], err = newAsset(name, encoded.String()); err != nil {
			return nil
		}
	}
	return icons
}
