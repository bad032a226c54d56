package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// openBrowser opens a link in the default browser, if there is one. Errors are ignored, because the
// link is printed as well. The link is not an argument of the browser, since every user of this
// machine can list arguments: the browser opens a private file that redirects to the link.
func openBrowser(ctx context.Context, link, redirectPage string) {
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	path, err := exec.LookPath(command)
	if err != nil || isSnapBrowser(ctx) {
		return
	}
	page := `<!doctype html><meta charset="utf-8"><title>nanobot</title><meta http-equiv="refresh" content="0; url=` +
		link + `"><a href="` + link + `">Open the chat</a>`
	_ = os.Remove(redirectPage) // an existing file would keep its mode
	if os.WriteFile(redirectPage, []byte(page), 0o600) != nil {
		return
	}
	cmd := exec.CommandContext(ctx, path, "file://"+(&url.URL{Path: redirectPage}).EscapedPath())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not reach the browser
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // reaps the browser
	}
}

// isSnapBrowser reports whether the default browser is a snap. Snaps cannot read files in hidden
// folders such as the state.
func isSnapBrowser(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name, _ := exec.CommandContext(ctx, "xdg-settings", "get", "default-web-browser").Output()
	_, err := os.Stat(filepath.Join("/var/lib/snapd/desktop/applications", strings.TrimSpace(string(name))))
	return strings.TrimSpace(string(name)) != "" && err == nil
}
