package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"nanobot/channels/web"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/httpd"
	"nanobot/internal/words"
	"nanobot/terminal/process"
)

//nolint:lll // the text has lines of its own
func newDemo(std stdio) *cobra.Command {
	var listen string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Try nanobot in a browser, without config or token",
		Long: `Demo runs the daemon with the chat page and a few built-in agents, on this machine only. It prints a sign-in link
and opens it in your browser. In the chat, write album, slow, ask, stream, buttons, markdown, fail or help, or send files. Ctrl-C ends
the demo and keeps the chats.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), listen, !quiet, std) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of the chat page; port 0 means any free port")
	cmd.Flags().BoolVar(&quiet, "no-browser", false, "print the link without opening a browser")
	return cmd
}

func runDemo(ctx context.Context, listen string, browse bool, std stdio) error {
	cfg := extensions().Default()
	if err := useDemoAgent(&cfg); err != nil {
		return err
	}
	page := web.NewSettings()
	page.Enabled = true
	cfg.Channels[web.Name], cfg.HTTP.Listen = page, listen
	if !cfg.HTTP.LoopbackOnly() {
		return exit.Usagef("--listen: must be an address of this machine only, such as 127.0.0.1:8080 (got %q)", listen)
	}
	cfg.Log.Level = "warn"
	cfg.HTTP.Token = config.Secret(rand.Text()) // for postFirstMessage
	// NoSubreaper: the supervisor must not reap the browser.
	d := daemon{
		cfg: &cfg, reload: func(*gateway.Gateway, agentHost) error { return nil },
		supervisor: process.NewSupervisor(process.SupervisorOptions{NoSubreaper: true}),
	}
	defer d.supervisor.Close()
	d.log, d.level = newDaemonLog(std.err, cfg.Log)
	redirectPage := filepath.Join(cfg.Gateway.StateDir, state.OpenPage)
	defer os.Remove(redirectPage) //nolint:errcheck // its link is used or will expire
	d.ready = func(s *site) {
		base := "http://" + s.server.Addr().String()
		if err := postFirstMessage(ctx, base, cfg.HTTP.Token); err != nil {
			d.log.Warn("first message not sent", zap.Error(err))
		}
		links := &demoLinks{grants: s.access.Grants(), base: base, out: std.out}
		link, err := links.printLink(ctx)
		if err != nil {
			d.log.Error("sign-in link not made", zap.Error(err))
			return
		}
		fmt.Fprintf(std.out, "Ctrl-C ends the demo. Chats and pictures stay in %s\n", cfg.Workspace)
		s.access.OfferLinks(links.offer)
		if browse {
			openBrowser(ctx, link, redirectPage)
		}
	}
	return d.run(ctx)
}

// demoLinks prints sign-in links.
type demoLinks struct {
	grants httpd.Grants
	base   string
	out    io.Writer

	mu   sync.Mutex
	last string // code of the link that was printed last
}

// printLink prints a new link and returns it.
func (d *demoLinks) printLink(ctx context.Context) (string, error) {
	code, err := d.grants.Make(ctx, "", httpd.Operator)
	if err != nil {
		return "", err
	}
	d.last = code
	link := d.base + httpd.EnterPath + code
	fmt.Fprintf(d.out, "Open this link in a browser. It works once:\n\n  %s\n\n", link)
	return link, nil
}

// offer prints a new link for a browser that is signed out, unless the last one still works.
func (d *demoLinks) offer(ctx context.Context) words.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, unused, err := d.grants.Lookup(ctx, d.last); err == nil && !unused {
		_, err = d.printLink(ctx)
		if err != nil {
			return ""
		}
	}
	return words.SignInDemoLink
}

// postFirstMessage sends "help" in the person's name, so that the chat does not start empty. Later
// demos send the same client_id, so the message is not repeated.
func postFirstMessage(ctx context.Context, base string, token config.Secret) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/chats/web-demo/messages",
		strings.NewReader(`{"text":"help","client_id":"demo"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+string(token))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("post message: %s", resp.Status)
	}
	return nil
}

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
		link + `"><a href="` + link + `">Open the demo</a>`
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
// folders such as the demo's state.
func isSnapBrowser(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name, _ := exec.CommandContext(ctx, "xdg-settings", "get", "default-web-browser").Output()
	_, err := os.Stat(filepath.Join("/var/lib/snapd/desktop/applications", strings.TrimSpace(string(name))))
	return strings.TrimSpace(string(name)) != "" && err == nil
}
