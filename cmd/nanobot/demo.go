package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	"nanobot/terminal/process"
)

func newDemo(std stdio) *cobra.Command {
	var listen string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Try nanobot in a browser, without config or token",
		Long: `Demo runs the daemon with the web chat and a few built-in agents, on this machine only, prints a sign-in link
and opens it in your browser. Write album, slow, ask, markdown, fail or help, or send files. Ctrl-C ends the demo
and keeps the chats.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), listen, !quiet, std) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of the web chat; port 0 means any free port")
	cmd.Flags().BoolVar(&quiet, "no-browser", false, "print the link without opening a browser")
	return cmd
}

func demo(ctx context.Context, listen string, browse bool, std stdio) error {
	cfg := extensions().Default()
	if err := useDemoAgent(&cfg); err != nil {
		return err
	}
	cfg.Terminal.Interactive = true
	page := web.NewSettings()
	page.Enabled = true
	cfg.Channels[web.Name], cfg.HTTP.Listen = page, listen
	if !cfg.HTTP.LoopbackOnly() {
		return exit.Usagef("--listen: the demo is for this machine only, such as 127.0.0.1:8080 (got %q)", listen)
	}
	cfg.Log.Level = "warn"
	cfg.HTTP.Token = config.Secret(rand.Text()) // ours, for the greeting
	// The browser that we open is no orphan of ours.
	d := daemon{cfg: &cfg, reload: func(*gateway.Gateway, host) error { return nil }, supervisor: process.NewSupervisor(process.SupervisorOptions{NoSubreaper: true})}
	defer d.supervisor.Close()
	d.log, d.level = newDaemonLog(std.err, cfg.Log)
	door := filepath.Join(cfg.Gateway.StateDir, state.OpenPage)
	defer os.Remove(door) //nolint:errcheck // what it leads to is used up, or will be too old
	d.ready = func(s *site) {
		base := "http://" + s.server.Addr().String()
		if err := greetInChat(ctx, base, cfg.HTTP.Token); err != nil {
			d.log.Warn("no greeting", zap.Error(err))
		}
		code, err := s.access.Links().Make(ctx, "", httpd.Operator)
		if err != nil {
			d.log.Error("no link was made", zap.Error(err))
			return
		}
		link := base + httpd.EnterPath + code
		fmt.Fprintf(std.out, "Open this in a browser; it lets one in, once:\n\n  %s\n\nCtrl-C ends it. Chats and pictures stay in %s\n", link, cfg.Workspace)
		if browse {
			open(ctx, link, door)
		}
	}
	return d.run(ctx)
}

// greetInChat asks on the person's behalf what there is, so that the page does not begin empty. The
// next demo finds that it was asked.
func greetInChat(ctx context.Context, base string, token config.Secret) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/chats/web-demo/messages", strings.NewReader(`{"text":"help","client_id":"demo"}`))
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
		return fmt.Errorf("answered %s", resp.Status)
	}
	return nil
}

// open shows a page in the browser, where there is one. It is only a kindness: the link is printed.
// Everybody on this machine can see how a program was started, so the browser is given a file that
// only we can read, and the link is in there.
func open(ctx context.Context, link, door string) {
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	path, err := exec.LookPath(command)
	if err != nil || confined(ctx) {
		return
	}
	page := `<!doctype html><meta charset="utf-8"><title>nanobot</title><meta http-equiv="refresh" content="0; url=` + link + `"><a href="` + link + `">Open the demo</a>`
	_ = os.Remove(door) // of an earlier demo, whose mode it would keep
	if os.WriteFile(door, []byte(page), 0o600) != nil {
		return
	}
	cmd := exec.CommandContext(ctx, path, "file://"+(&url.URL{Path: door}).EscapedPath())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, not for the browser
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // whenever the browser closes
	}
}

// confined tells whether the browser is a snap. Those may not read files in hidden folders, as ours
// is.
func confined(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name, _ := exec.CommandContext(ctx, "xdg-settings", "get", "default-web-browser").Output()
	_, err := os.Stat(filepath.Join("/var/lib/snapd/desktop/applications", strings.TrimSpace(string(name))))
	return strings.TrimSpace(string(name)) != "" && err == nil
}
