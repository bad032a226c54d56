package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/gateway"
	"nanobot/httpd"
)

func newDemo(std stdio) *cobra.Command {
	var listen string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "See it work in a browser: no config, no token",
		Long: `Demo runs the daemon with the web page and a built-in agent, on this machine only, and prints a link that lets one browser in.
Say album, slow, ask, markdown or fail to the agent, or send it files. Ctrl-C ends it; the chats stay.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), listen, !quiet, std) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of the page; port 0: any that is free")
	cmd.Flags().BoolVar(&quiet, "no-browser", false, "only print the link")
	return cmd
}

func demo(ctx context.Context, listen string, browse bool, std stdio) error {
	cfg := config.Default()
	if err := useDemoAgent(&cfg); err != nil {
		return err
	}
	cfg.Terminal.Interactive = true
	cfg.Channels.Web.Enabled, cfg.HTTP.Listen = true, listen
	if !cfg.HTTP.Local() {
		return usage("--listen: the demo is for this machine only, such as 127.0.0.1:8080 (got %q)", listen)
	}
	cfg.Log.Level = "warn"
	d := daemon{cfg: &cfg, reload: func(*gateway.Gateway) {}}
	d.log, d.level = newDaemonLog(std.err, cfg.Log)
	d.ready = func(s *site) {
		code, err := httpd.Links{State: cfg.Gateway.StateDir}.Make("", httpd.Operator)
		if err != nil {
			d.log.Error("no link was made", zap.Error(err))
			return
		}
		link := "http://" + s.server.Addr().String() + httpd.EnterPath + code
		fmt.Fprintf(std.out, "Open this in a browser; it lets one in, once:\n\n  %s\n\nCtrl-C ends it. Chats and pictures stay in %s\n", link, cfg.Workspace)
		if browse {
			open(ctx, link)
		}
	}
	return d.run(ctx)
}

// open shows a page in the browser, where there is one. It is only a kindness: the link is printed.
func open(ctx context.Context, link string) {
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	if path, err := exec.LookPath(command); err == nil {
		cmd := exec.CommandContext(ctx, path, link)
		if cmd.Start() == nil {
			go func() { _ = cmd.Wait() }() // whenever the browser closes
		}
	}
}
