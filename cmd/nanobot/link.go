package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"nanobot/channels/web"
	"nanobot/cmd/nanobot/access"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/internal/httpd"
)

func newLink(std stdio) *cobra.Command {
	var role, user, revoke, as string
	var list, asJSON bool
	cmd := withConfig(&cobra.Command{
		Use:   "link [flags]",
		Short: "Make, list and revoke sign-in links for the chat page",
		Long: `Link prints a one-time link that signs one browser in to the chat page. The link is valid for 15 minutes, the
sign-in for 30 days. A user with the role chat sees their own chats, in every browser signed in under the same
name. Operators see all chats and the activity of the daemon. --as gives the user a role in chats, which is apart
from that.

--list shows unused links and signed-in browsers. --revoke revokes a link or signs a browser out by its ID, or all
links and browsers of a user by name; open pages are signed out within a second. A user without any link or
browser has lost access: their waiting messages are dropped and their running turns are stopped.

Run it while the daemon runs, as the daemon's user, or as root if only root can change the config.`,
		Example: `  nanobot link --role operator
  nanobot link --user ann
  nanobot link --user ben --as guest
  nanobot link --list
  nanobot link --revoke 3f9c0a71de`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := noArguments(cmd, args); err != nil {
				return err
			}
			making := slices.ContainsFunc([]string{"role", "user", "as"}, cmd.Flags().Changed)
			if countTrue(making, list, cmd.Flags().Changed("revoke")) > 1 {
				return exit.Usagef("link: --list and --revoke cannot be combined with each other or with --role, --user and --as")
			}
			if asJSON && !list {
				return exit.Usagef("link: --json works only with --list")
			}
			return nil
		},
	}, func(cmd *cobra.Command, cfg *config.Config, _ []string) error {
		switch o := accessOptions(cfg, std); {
		case list:
			return asStateOwner(cfg, std, func() error { return access.ListLinks(cmd.Context(), o, asJSON) })
		case cmd.Flags().Changed("revoke"):
			return asStateOwner(cfg, std, func() error { return access.RevokeLinks(cmd.Context(), o, revoke) })
		}
		return printLink(cmd.Context(), cfg, access.Link{User: user, Role: httpd.Role(role), As: as}, std)
	})
	role = string(httpd.Chat)
	cmd.Flags().Var(checkedFlag{&role, checkRole}, "role", "role of the user: chat or operator")
	cmd.Flags().Var(checkedFlag{&user, httpd.CheckUserName}, "user",
		"name of the user: letters, digits, - and _ (default: a random name, or operator)")
	addRoleFlag(cmd, &as)
	cmd.Flags().BoolVar(&list, "list", false, "list unused links and signed-in browsers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	cmd.Flags().StringVar(&revoke, "revoke", "", "revoke access: an ID of --list, the name of a user, or * for everybody")
	_ = cmd.RegisterFlagCompletionFunc("role",
		cobra.FixedCompletions([]string{string(httpd.Chat), string(httpd.Operator)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func checkRole(role string) error {
	if !httpd.Role(role).Valid() {
		return errors.New("must be chat or operator")
	}
	return nil
}

func printLink(ctx context.Context, cfg *config.Config, l access.Link, std stdio) error {
	if !web.Describe().Enabled(cfg) {
		return fmt.Errorf("channels.web.enabled is not true in %s, so there is no chat page to sign in to", cfg.File())
	}
	base, err := access.Address(cfg.HTTP)
	if err != nil {
		return err
	}
	l.Base = base
	return asStateOwner(cfg, std, func() error { return access.PrintLink(ctx, accessOptions(cfg, std), l) })
}
