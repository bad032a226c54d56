// Package page holds what a browser gets: one HTML file, one style sheet, an icon and a few ES
// modules. They are served as they are, from the root of the server, under a policy that allows no
// inline script or style. It knows nothing of who serves it.
package page

import "embed"

// Files are the page. index.html is the document.
//
//go:embed index.html style.css icon.svg *.js
var Files embed.FS
