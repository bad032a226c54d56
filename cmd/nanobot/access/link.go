package access

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/internal/httpd"
)

// ListLinks prints the links that were not used yet and the browsers that are signed in.
func ListLinks(ctx context.Context, o Options, asJSON bool) error {
	var all []httpd.Grant
	err := o.withGrants(ctx, func(g httpd.Grants) (err error) {
		all, err = g.List(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return format.WriteJSON(o.Out, append([]httpd.Grant{}, all...)) // [] and not null
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "Nobody is signed in, and there is no unused link.")
		return err
	}
	w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
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

// withGrants calls f with the links and sessions of the open state. Those of an earlier version are
// imported first.
func (o Options) withGrants(ctx context.Context, f func(httpd.Grants) error) error {
	return o.withStore(ctx, func(s store.Store) error {
		if err := httpd.Import(ctx, s, o.Config.Gateway.StateDir); err != nil {
			return err
		}
		return f(httpd.Grants{Records: s})
	})
}

// RevokeLinks withdraws a link or signs a browser out, by its id, or all of a user, by name, or all
// of everybody. A user who has no way in any more loses the turns that wait and run as well.
func RevokeLinks(ctx context.Context, o Options, who string) error {
	var revoked []httpd.Grant
	out := map[string]bool{} // who has no way in any more
	err := o.withGrants(ctx, func(grants httpd.Grants) (err error) {
		revoked, err = grants.Revoke(ctx, who)
		for _, g := range revoked {
			if err != nil {
				break
			}
			if _, checked := out[g.User]; checked {
				continue
			}
			var left bool
			left, err = hasWebAccess(ctx, o.Config, grants, g.User)
			out[g.User] = !left
		}
		return err
	})
	for _, g := range revoked {
		o.Record(audit.Revoked, store.Pairing{Channel: web.Name, User: channels.User{ID: g.User}})
		done := "signed out"
		if g.Kind == httpd.LinkGrant {
			done = "withdrawn"
		}
		fmt.Fprintf(o.Out, "%s %s of %s: %s.\n", g.Kind, g.ID, g.User, done)
	}
	if err != nil {
		return err
	}
	if len(revoked) == 0 {
		return fmt.Errorf("there is no link, browser or user %q; nanobot link --list shows them", who)
	}
	for _, user := range slices.Sorted(maps.Keys(out)) {
		if !out[user] {
			continue
		}
		if err := o.dismissWebUser(ctx, user); err != nil {
			return fmt.Errorf("%s is signed out, but running turns and waiting messages are not stopped: %w", user, err)
		}
	}
	return nil
}

// hasWebAccess tells whether a user can still get into the web chat. The token of scripts speaks
// for the user called operator.
func hasWebAccess(ctx context.Context, cfg *config.Config, grants httpd.Grants, user string) (bool, error) {
	if cfg.HTTP.Token != "" && strings.EqualFold(user, string(httpd.Operator)) {
		return true, nil
	}
	left, err := grants.List(ctx)
	return slices.ContainsFunc(left, func(g httpd.Grant) bool { return g.User == user }), err
}

// dismissWebUser ends the work of a web user who has lost access, and waits until the daemon has.
func (o Options) dismissWebUser(ctx context.Context, user string) error {
	return o.withStore(ctx, func(s store.Store) error {
		err := s.Dismiss(ctx, store.Person{Channel: web.Name, User: user})
		if err == nil && !o.awaitStopped(ctx, s) {
			fmt.Fprintln(o.Err, "A running turn has not ended yet; nothing that it says is sent.")
		}
		return err
	})
}

// PrintLink makes a link into the web chat, whose address starts with base, and prints it.
func PrintLink(ctx context.Context, o Options, base, user string, role httpd.Role) error {
	var code, id string
	err := o.withGrants(ctx, func(g httpd.Grants) (err error) {
		links := httpd.Links(g)
		code, err = links.Make(ctx, user, role)
		id = links.ID(code)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.Out, base+httpd.EnterPath+code); err != nil {
		return err
	}
	fmt.Fprintf(o.Err, "It lets one browser in (role %s), once, within %d minutes. To withdraw it: nanobot link --revoke %s\n",
		role, int(httpd.LinkLife.Minutes()), id)
	return nil
}

// Address is where browsers find the page. A name that is configured for a server which only this
// machine can reach is that of what stands in front of it, with TLS.
func Address(h config.HTTP) (string, error) {
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
