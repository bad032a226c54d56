package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"nanobot/channels/web/page"
)

// asset is a file of the page.
type asset struct{ content, contentType, etag string }

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
		all["/"+name] = asset{string(content), contentType(name), `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	all["/"] = all["/index.html"]
	return all, err
})

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
		return notFound("page")
	}
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.content))
	return nil
}
