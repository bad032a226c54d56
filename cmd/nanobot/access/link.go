package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// ListLinks prints the unused links and the signed-in browsers.
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.ID, g.Kind, g.User, g.Role, g.Created.Local().Format(time.DateTime),
			seen, g.Expires.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// withGrants calls f with the links and sessions of the state. It imports those of an earlier
// version first.
func (o Options) withGrants(ctx context.Context, f func(httpd.Grants) error) error {
	return o.withStore(ctx, func(s store.Store) error { return o.withStoredGrants(ctx, s, f) })
}

func (o Options) withStoredGrants(ctx context.Context, s store.Store, f func(httpd.Grants) error) error {
	err := httpd.Import(ctx, s, o.Config.Gateway.StateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a shared store needs no folder on this machine
		return err
	}
	return f(httpd.Grants{Records: s})
}

// RevokeLinks revokes links and signs browsers out: the one with the given ID, all of the given
// user, or all (httpd.Everybody). For a user without any access left it also drops waiting messages
// and stops running turns.
func RevokeLinks(ctx context.Context, o Options, target string) error {
	var revoked []httpd.Grant
	lostAccess := map[string]bool{}
	err := o.withGrants(ctx, func(grants httpd.Grants) (err error) {
		revoked, err = grants.Revoke(ctx, target)
		for _, g := range revoked {
			if err != nil {
				break
			}
			if _, checked := lostAccess[g.User]; checked {
				continue
			}
			var left bool
			left, err = hasWebAccess(ctx, o.Config, grants, g.User)
			lostAccess[g.User] = !left
		}
		return err
	})
	for _, g := range revoked {
		o.Record(audit.Revoked, store.Pairing{Channel: web.Name, User: channels.User{ID: g.User}})
		done := "Signed out"
		if g.Kind == httpd.LinkGrant {
			done = "Revoked"
		}
		fmt.Fprintf(o.Out, "%s %s's %s %s.\n", done, g.User, g.Kind, g.ID)
	}
	if err != nil {
		return err
	}
	if len(revoked) == 0 {
		return fmt.Errorf("there is no link, browser or user %q; see nanobot link --list", target)
	}
	for _, user := range slices.Sorted(maps.Keys(lostAccess)) {
		if !lostAccess[user] {
			continue
		}
		if err := o.dismissWebUser(ctx, user); err != nil {
			return fmt.Errorf("%s is signed out, but the user's running turns and waiting messages were not stopped: %w", user,
				err)
		}
	}
	return nil
}

// hasWebAccess reports whether a user still has access to the chat page. Scripts with the token are
// the user named operator.
func hasWebAccess(ctx context.Context, cfg *config.Config, grants httpd.Grants, user string) (bool, error) {
	if cfg.HTTP.Token != "" && strings.EqualFold(user, string(httpd.Operator)) {
		return true, nil
	}
	left, err := grants.List(ctx)
	return slices.ContainsFunc(left, func(g httpd.Grant) bool { return g.User == user }), err
}

// dismissWebUser drops the messages of a web user who has lost access, and waits until the daemon
// has stopped the turns.
func (o Options) dismissWebUser(ctx context.Context, user string) error {
	return o.withStore(ctx, func(s store.Store) error {
		who := store.Person{Channel: web.Name, User: user}
		err := errors.Join(s.Dismiss(ctx, who), forgetRole(ctx, s, who))
		if err == nil && !o.awaitStopped(ctx, s) {
			fmt.Fprintln(o.Err, "A running turn has not ended yet; its output is not sent.")
		}
		return err
	})
}

// Link is a sign-in link to be made.
type Link struct {
	Base string // of the address
	User string // "": a random name
	Role httpd.Role
	As   string // the role of the person in chats; "": the one that they have
}

// PrintLink makes a sign-in link and prints it.
func PrintLink(ctx context.Context, o Options, l Link) error {
	if err := o.checkRoles(l.As); err != nil {
		return err
	}
	var code, id string
	err := o.withStore(ctx, func(s store.Store) error {
		return o.withStoredGrants(ctx, s, func(g httpd.Grants) (err error) {
			code, err = g.Make(ctx, l.User, l.Role)
			if err != nil {
				return err
			}
			id = g.ID(code)
			made, _, err := g.Lookup(ctx, code)
			if err != nil {
				return err
			}
			return o.saveRole(ctx, s, store.Person{Channel: web.Name, User: made.User}, l.As)
		})
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.Out, l.Base+httpd.EnterPath+code); err != nil {
		return err
	}
	fmt.Fprintf(o.Err,
		"This link signs in one browser (role %s). It works once, within %d minutes. "+
			"To revoke it: nanobot link --revoke %s\n",
		l.Role, int(httpd.LinkLifetime.Minutes()), id)
	return nil
}

// Address returns the address of the chat page for browsers. If the server listens on loopback and
// http.hosts is set, the first host is that of a reverse proxy with TLS.
func Address(h config.HTTP) (string, error) {
	host, port, err := net.SplitHostPort(h.Listen)
	if err != nil {
		return "", fmt.Errorf("http.listen: %w", err)
	}
	if n, _ := strconv.Atoi(port); n == 0 {
		return "",
			fmt.Errorf("http.listen: must name a fixed port, because with port 0 only the running daemon knows it (got %q)",
				h.Listen)
	}
	if len(h.Hosts) > 0 && h.LoopbackOnly() {
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
