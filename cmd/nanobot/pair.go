package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
)

func newPair(std stdio) *cobra.Command {
	var path, revoke string
	var list bool
	cmd := &cobra.Command{
		Use:   "pair [flags] [CODE]",
		Short: "Let somebody in who was given a pairing code",
		Long: `Pair accepts the code that the bot gave to somebody who is not in allowFrom. It works while the daemon runs, which
notices at once, for the user that the daemon runs as, and for root if nobody else can change the config.`,
		Example: `  nanobot pair K7QX3TBA
  nanobot pair --list
  nanobot pair --revoke telegram:123456789`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if chosen := len(args) + btoi(list) + btoi(revoke != ""); chosen != 1 {
				return usage("pair: give a CODE, --list or --revoke")
			}
			return withStore(cmd.Context(), path, std, func(s store.Store, cfg *config.Config) error {
				switch {
				case list:
					return listGuests(cmd.Context(), s, std)
				case revoke != "":
					return revokeGuest(cmd.Context(), s, cfg, revoke, std)
				}
				return acceptGuest(cmd.Context(), s, cfg, args[0], std)
			})
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().BoolVar(&list, "list", false, "list who was let in, and who waits")
	cmd.Flags().StringVar(&revoke, "revoke", "", "shut somebody out again: CHANNEL:USER")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// withStore opens the state beside a daemon that may be running, as the user that it belongs to.
func withStore(ctx context.Context, path string, std stdio, f func(store.Store, *config.Config) error) error {
	cfg, err := readBeside(path)
	if err != nil {
		return err
	}
	if err := becomeOwner(cfg, std); err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, true)
	if err != nil {
		return err
	}
	return errors.Join(f(s, cfg), closeStore(s))
}

func acceptGuest(ctx context.Context, s store.Store, cfg *config.Config, code string, std stdio) error {
	g, ok, err := s.Accept(ctx, strings.ToUpper(strings.TrimSpace(code)), gateway.CodeLife)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("code %s is not known or older than %s; ask for a new one by writing to the bot", code, gateway.CodeLife)
	}
	auditGuest(cfg, audit.Paired, g, std)
	_, err = fmt.Fprintf(std.out, "%s may talk to the bot now.\n", guestName(g))
	return err
}

func listGuests(ctx context.Context, s store.Store, std stdio) error {
	guests, err := s.Guests(ctx)
	if err != nil {
		return err
	}
	for _, g := range guests {
		state := "let in " + g.Since.Local().Format(time.DateTime)
		if g.Code != "" {
			state = "waits, code " + g.Code
		}
		if _, err := fmt.Fprintf(std.out, "%s\t%s\n", guestName(g), state); err != nil {
			return err
		}
	}
	if len(guests) == 0 {
		_, err = fmt.Fprintln(std.out, "Nobody was let in by a code, and nobody waits.")
	}
	return err
}

func revokeGuest(ctx context.Context, s store.Store, cfg *config.Config, who string, std stdio) error {
	channel, user, _ := strings.Cut(who, ":")
	ok, err := s.Revoke(ctx, channel, user)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s was not let in by a code; allowFrom in the config is another matter", who)
	}
	auditGuest(cfg, audit.Revoked, store.Guest{Channel: channel, User: channels.User{ID: user}}, std)
	_, err = fmt.Fprintf(std.out, "%s is shut out.\n", who)
	return err
}

func guestName(g store.Guest) string {
	name := g.Channel + ":" + g.User.ID
	if g.User.Name != "" {
		name += fmt.Sprintf(" (%q)", g.User.Name) // quoted: it is what a stranger typed
	}
	return name
}
