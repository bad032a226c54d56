// Package page holds the files of the chat page: one HTML file, one style sheet, an icon and a few
// ES modules. They are served unchanged from the root of the server, under a content security
// policy without inline scripts and styles. It knows nothing of the server.
package page

import "embed"

// Files are the page. index.html is the document.
//
//go:embed index.html style.css icon.svg *.js
var Files embed.FS
