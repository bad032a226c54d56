package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"nanobot/channels/web/page"
	"nanobot/internal/words"
)

// asset is a file of the page. Browsers get it compressed: that is a third of its size.
type asset struct{ content, compressed, contentType, etag string }

func newAsset(name, content string) (asset, error) {
	sum := sha256.Sum256([]byte(content))
	compressed, err := compress(content)
	return asset{content, compressed, contentType(name), hex.EncodeToString(sum[:8])}, err
}

// assets are the files of the page by path, without the document. The ETag lets browsers revalidate
// them.
var assets = sync.OnceValues(func() (map[string]asset, error) {
	all := map[string]asset{}
	err := fs.WalkDir(page.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == document {
			return err
		}
		content, err := page.Files.ReadFile(name)
		if err != nil {
			return err
		}
		all["/"+name], err = newAsset(name, string(content))
		return err
	})
	return all, err
})

// manifestName is the name of the description of the page as an app.
const manifestName = "manifest.webmanifest"

// document is the name of the page's document.
const document = "index.html"

// documentCache has the document in each language. The operator may change its texts while the
// daemon runs.
type documentCache struct {
	bot   page.Bot
	mu    sync.Mutex
	known map[words.Language]asset
}

// get returns the document with some words. It compresses the document only if it has changed.
func (d *documentCache) get(w words.Words) (asset, error) {
	content, err := page.Document(w, d.bot)
	if err != nil {
		return asset{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.known[w.Language()]; ok && a.content == content {
		return a, nil
	}
	a, err := newAsset(document, content)
	if err == nil {
		if d.known == nil {
			d.known = map[words.Language]asset{}
		}
		d.known[w.Language()] = a
	}
	return a, err
}

func compress(content string) (string, error) {
	var b strings.Builder
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(w, content)
	err = errors.Join(err, w.Close())
	return b.String(), err
}

// contentType does not use the machine's MIME tables for the page's own files: browsers do not
// execute a script of another type.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// requestedAsset returns the file that a request names.
func (c *Channel) requestedAsset(r *http.Request) (asset, error) {
	if r.URL.Path == "/" || r.URL.Path == "/"+document {
		return c.documents.get(c.words.For(requestLanguage(r)))
	}
	if r.URL.Path == picturePath && c.picture != nil {
		return *c.picture, nil
	}
	if _, ok := page.IconSizes[strings.TrimPrefix(r.URL.Path, "/")]; ok && c.picture != nil {
		if icon, ok := c.icons()[r.URL.Path]; ok {
			return icon, nil
		}
	}
	if r.URL.Path == "/"+manifestName {
		manifest, err := c.documents.bot.Manifest()
		if err != nil {
			return asset{}, err
		}
		return newAsset(manifestName, string(manifest))
	}
	all, err := assets()
	if err != nil {
		return asset{}, err
	}
	a, ok := all[r.URL.Path]
	if !ok {
		return asset{}, shownError(http.StatusNotFound, words.PageNoPage)
	}
	return a, nil
}

func (c *Channel) getPage(w http.ResponseWriter, r *http.Request) error {
	a, err := c.requestedAsset(r)
	if err != nil {
		return err
	}
	header, content := w.Header(), a.content
	header.Set("Content-Type", a.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding, Accept-Language")
	header.Set("ETag", `"`+a.etag+`"`)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", `"`+a.etag+`-gzip"`)
		content = a.compressed
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	return nil
}
