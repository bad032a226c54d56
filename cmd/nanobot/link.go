package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
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
			switch {
			case list:
				return listGrants(cfg, asJSON, std)
			case cmd.Flags().Changed("revoke"):
				return revokeGrants(cmd.Context(), cfg, revoke, std)
			}
			return makeLink(cmd.Context(), cfg, user, httpd.Role(role), std)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().StringVar(&role, "role", string(httpd.Chat), "what they may do: chat or operator")
	cmd.Flags().StringVar(&user, "user", "", "who they are: letters, digits, - and _ (default: somebody new, or the operator)")
	cmd.Flags().BoolVar(&list, "list", false, "list unused links and signed-in browsers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	cmd.Flags().StringVar(&revoke, "revoke", "", "withdraw a link or sign a browser out: an ID of --list, or a user's name for all of theirs")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{string(httpd.Chat), string(httpd.Operator)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// listGrants shows who can come in and who is in.
func listGrants(cfg *config.Config, asJSON bool, std stdio) error {
	if err := trust.EnterState(cfg, std.err); err != nil {
		return err
	}
	all, err := httpd.Grants{State: cfg.Gateway.StateDir}.List()
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(std.out)
		enc.SetIndent("", "  ")
		return enc.Encode(append([]httpd.Grant{}, all...)) // [] and not null
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(std.out, "Nobody is signed in, and there is no unused link.")
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tUSER\tROLE\tCREATED\tLAST SEEN\tEXPIRES")
	for _, g := range all {
		seen := "-"
		if g.LastSeen != nil {
			seen = g.LastSeen.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.ID, g.Kind, g.User, g.Role, g.Created.Local().Format(time.DateTime), seen, g.Expires.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// revokeGrants withdraws links and signs browsers out. A user who has no way in any more loses the
// turns that wait and run as well.
func revokeGrants(ctx context.Context, cfg *config.Config, who string, std stdio) error {
	if err := trust.EnterState(cfg, std.err); err != nil {
		return err
	}
	grants := httpd.Grants{State: cfg.Gateway.StateDir}
	revoked, err := grants.Revoke(who)
	for _, g := range revoked {
		auditGuest(cfg, audit.Revoked, store.Guest{Channel: web.Name, User: channels.User{ID: g.User}}, std)
		done := "signed out"
		if g.Kind == httpd.LinkGrant {
			done = "withdrawn"
		}
		fmt.Fprintf(std.out, "%s %s of %s: %s.\n", g.Kind, g.ID, g.User, done)
	}
	if err != nil {
		return err
	}
	if len(revoked) == 0 {
		return fmt.Errorf("there is no link, browser or user %q; nanobot link --list shows them", who)
	}
	user := revoked[0].User // an ID is of one user
	if left, err := hasWebAccess(cfg, grants, user); left || err != nil {
		return err
	}
	if err := dismissWebUser(ctx, cfg, user, std); err != nil {
		return fmt.Errorf("%s is signed out, but running turns and waiting messages are not stopped: %w", user, err)
	}
	return nil
}

// hasWebAccess tells whether a user can still get into the web chat. The token of scripts speaks
// for the user called operator.
func hasWebAccess(cfg *config.Config, grants httpd.Grants, user string) (bool, error) {
	if cfg.HTTP.Token != "" && strings.EqualFold(user, string(httpd.Operator)) {
		return true, nil
	}
	left, err := grants.List()
	return slices.ContainsFunc(left, func(g httpd.Grant) bool { return g.User == user }), err
}

// dismissWebUser ends the work of a web user who has lost access, and waits until the daemon has.
func dismissWebUser(ctx context.Context, cfg *config.Config, user string, std stdio) error {
	s, err := openStore(ctx, cfg, true)
	if err != nil {
		return err
	}
	err = s.Dismiss(ctx, store.Person{Channel: web.Name, User: user})
	if err == nil && !awaitStopped(ctx, s, cfg) {
		fmt.Fprintln(std.err, "A running turn has not ended yet; nothing that it says is sent.")
	}
	return errors.Join(err, closeStore(s))
}

func makeLink(ctx context.Context, cfg *config.Config, user string, role httpd.Role, std stdio) error {
	if !cfg.Channels.Web.Enabled {
		return fmt.Errorf("channels.web.enabled is not true in %s, so there is nothing to be let into", cfg.File())
	}
	if !role.Valid() {
		return exit.Usagef("--role: must be chat or operator (got %q)", role)
	}
	base, err := address(cfg.HTTP)
	if err != nil {
		return err
	}
	if err := trust.EnterState(cfg, std.err); err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, true) // a link into a damaged state leads nowhere
	if err != nil {
		return err
	}
	if err := closeStore(s); err != nil {
		return err
	}
	links := httpd.Links{State: cfg.Gateway.StateDir}
	code, err := links.Make(user, role)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(std.out, base+httpd.EnterPath+code); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "It lets one browser in (role %s), once, within %d minutes. To withdraw it: nanobot link --revoke %s\n",
		role, int(httpd.LinkLife.Minutes()), links.ID(code))
	return nil
}

// address is where browsers find the page. A name that is configured for a server which only this
// machine can reach is that of what stands in front of it, with TLS.
func address(h config.HTTP) (string, error) {
	host, port, err := net.SplitHostPort(h.Listen)
	if err != nil {
		return "", fmt.Errorf("http.listen: %w", err)
	}
	if n, _ := strconv.Atoi(port); n == 0 {
		return "", fmt.Errorf("http.listen: with port 0 only the daemon knows its address (got %q)", h.Listen)
	}
	if len(h.Hosts) > 0 && h.Local() {
		return "https://" + h.Hosts[0], nil
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if len(h.Hosts) > 0 {
		host = h.Hosts[0]
	}
	return "http://" + net.JoinHostPort(host, port), nil
}
