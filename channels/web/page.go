package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// assets are the files of the page by path. The ETag lets browsers revalidate them.
var assets = sync.OnceValues(func() (map[string]asset, error) {
	all := map[string]asset{}
	err := fs.WalkDir(page.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := page.Files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		compressed, err := compress(content)
		all["/"+name] = asset{string(content), compressed, contentType(name), hex.EncodeToString(sum[:8])}
		return err
	})
	all["/"] = all["/index.html"]
	return all, err
})

func compress(content []byte) (string, error) {
	var b strings.Builder
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = w.Write(content)
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
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func getPage(w http.ResponseWriter, r *http.Request) error {
	all, err := assets()
	if err != nil {
		return err
	}
	a, ok := all[r.URL.Path]
	if !ok {
		return shownError(http.StatusNotFound, words.PageNoPage)
	}
	header, content := w.Header(), a.content
	header.Set("Content-Type", a.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	header.Set("ETag", `"`+a.etag+`"`)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", `"`+a.etag+`-gzip"`)
		content = a.compressed
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	return nil
}
