package main

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"nanobot/config"
	"nanobot/httpd"
)

func newLink(std stdio) *cobra.Command {
	var path, role, user string
	cmd := &cobra.Command{
		Use:   "link [flags]",
		Short: "Make a link that lets somebody into the web chat",
		Long: `Link prints an address that lets one browser in, once, within 15 minutes; the browser stays in for 30 days. It works while the
daemon runs, for the user that the daemon runs as, and for root if nobody else can change the config. People with the role chat see the chats
that they began, on every browser that came in under the same user name; operators see all chats, and what the daemon does.`,
		Example: `  nanobot link --role operator
  nanobot link --user ann`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := readBeside(path)
			if err != nil {
				return err
			}
			return makeLink(cfg, user, httpd.Role(role), std)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().StringVar(&role, "role", string(httpd.Chat), "what they may do: chat or operator")
	cmd.Flags().StringVar(&user, "user", "", "who they are: letters, digits, - and _ (default: somebody new, or the operator)")
	_ = cmd.MarkFlagFilename("config", "json")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{string(httpd.Chat), string(httpd.Operator)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func makeLink(cfg *config.Config, user string, role httpd.Role, std stdio) error {
	if !cfg.Channels.Web.Enabled {
		return fmt.Errorf("channels.web.enabled is not true in %s, so there is nothing to be let into", cfg.File())
	}
	if !role.Valid() {
		return usage("--role: must be chat or operator (got %q)", role)
	}
	base, err := address(cfg.HTTP)
	if err != nil {
		return err
	}
	if err := becomeOwner(cfg, std); err != nil {
		return err
	}
	code, err := httpd.Links{State: cfg.Gateway.StateDir}.Make(user, role)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(std.out, base+httpd.EnterPath+code); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "It lets one browser in (role %s), once, within %d minutes.\n", role, int(httpd.LinkLife.Minutes()))
	return nil
}

// address is where browsers find the page. A name that is configured for a server which only this machine can reach is that of what stands in
// front of it, with TLS.
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
