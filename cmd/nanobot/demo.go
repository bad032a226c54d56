package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nanobot/config"
)

func newDemo(std stdio) *cobra.Command {
	var flags webFlags
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Try nanobot in a browser, without config or token",
		Long: `Demo is web with a built-in agent, from any folder. In the chat, write album, slow, ask, stream, buttons, markdown,
fail or help, or send files. Ctrl-C ends the demo and keeps the chats.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := extensions().Default()
			if err := useDemoAgent(&cfg); err != nil {
				return err
			}
			cfg.HTTP.Token = config.Secret(rand.Text()) // for the first message
			return flags.run(cmd.Context(), &cfg, std, func(ctx context.Context, base string) error {
				return postFirstMessage(ctx, base, cfg.HTTP.Token)
			})
		},
	}
	flags.add(cmd)
	return cmd
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
