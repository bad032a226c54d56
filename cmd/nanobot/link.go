package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"nanobot/channels/web"
	"nanobot/cmd/nanobot/access"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/internal/httpd"
)

func newLink(std stdio) *cobra.Command {
	var path, role, user, revoke string
	var list, asJSON bool
	cmd := &cobra.Command{
		Use:   "link [flags]",
		Short: "Let somebody into the web chat, list who is in, and sign people out",
		Long: `Link prints an address that lets one browser in, once, within 15 minutes; the browser stays in for 30 days. It works while the
daemon runs, for the user that the daemon runs as, and for root if nobody else can change the config. People with the role chat see the chats
that they began, on every browser that came in under the same user name; operators see all chats, and what the daemon does.

With --list it shows the links that were not used yet and the browsers that are signed in. With --revoke it withdraws a link or signs a browser
out, by its ID, or all links and browsers of a user, by name. Pages that are open are signed out within a second. A user who has neither a
link nor a browser left has lost access: waiting messages are dropped and running turns are stopped, as with nanobot pair --revoke.`,
		Example: `  nanobot link --role operator
  nanobot link --user ann
  nanobot link --list
  nanobot link --revoke 3f9c0a71de`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			making := cmd.Flags().Changed("role") || cmd.Flags().Changed("user")
			if btoi(making)+btoi(list)+btoi(cmd.Flags().Changed("revoke")) > 1 {
				return exit.Usagef("link: --list and --revoke go with neither each other nor --role and --user")
			}
			if asJSON && !list {
				return exit.Usagef("link: --json goes with --list")
			}
			cfg, err := loadBesideDaemon(path)
			if err != nil {
				return err
			}
			switch o := accessOptions(cfg, std); {
			case list:
				return enteringState(cfg, std, func() error { return access.ListLinks(cmd.Context(), o, asJSON) })
			case cmd.Flags().Changed("revoke"):
				return enteringState(cfg, std, func() error { return access.RevokeLinks(cmd.Context(), o, revoke) })
			}
			return printLink(cmd.Context(), cfg, user, httpd.Role(role), std)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().StringVar(&role, "role", string(httpd.Chat), "what they may do: chat or operator")
	cmd.Flags().StringVar(&user, "user", "", "who they are: letters, digits, - and _ (default: somebody new, or the operator)")
	cmd.Flags().BoolVar(&list, "list", false, "list unused links and signed-in browsers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	cmd.Flags().StringVar(&revoke, "revoke", "", "withdraw a link or sign a browser out: an ID of --list, a user's name for all of theirs, or * for everybody")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{string(httpd.Chat), string(httpd.Operator)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printLink(ctx context.Context, cfg *config.Config, user string, role httpd.Role, std stdio) error {
	if !web.Describe().Enabled(cfg) {
		return fmt.Errorf("channels.web.enabled is not true in %s, so there is nothing to be let into", cfg.File())
	}
	if !role.Valid() {
		return exit.Usagef("--role: must be chat or operator (got %q)", role)
	}
	base, err := access.Address(cfg.HTTP)
	if err != nil {
		return err
	}
	return enteringState(cfg, std, func() error { return access.PrintLink(ctx, accessOptions(cfg, std), base, user, role) })
}
