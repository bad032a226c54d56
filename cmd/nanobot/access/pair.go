package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/audit"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

// Accept gives access to the person who received a pairing code, with a role or "". The role is
// stored first, so that the person never has another one.
func Accept(ctx context.Context, o Options, code, as string) error {
	return o.withStore(ctx, func(s store.Store) error {
		waiting, err := s.Pairings(ctx)
		if err != nil {
			return err
		}
		for _, g := range waiting {
			if time.Since(g.Since) < intake.CodeLifetime && g.Code != "" && g.Code == strings.ToUpper(strings.TrimSpace(code)) {
				err = o.saveRole(ctx, s, store.Person{Channel: g.Channel, User: g.User.ID}, as)
			}
		}
		if err != nil {
			return err
		}
		g, ok, err := s.Accept(ctx, strings.ToUpper(strings.TrimSpace(code)), intake.CodeLifetime)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("code %q is unknown or has expired (a code is valid for %d minutes, and the oldest expires when "+
				"there are too many); "+
				"ask the person to write to the bot again, or use their ID: nanobot pair CHANNEL:ID", code,
				int(intake.CodeLifetime.Minutes()))
		}
		return o.reportPaired(g)
	})
}

// Admit gives access to a person, whether or not they have written yet, with a role or "".
func Admit(ctx context.Context, o Options, who store.Person, as string) error {
	return o.withStore(ctx, func(s store.Store) error {
		if err := o.saveRole(ctx, s, who, as); err != nil {
			return err
		}
		g, ok, err := s.Admit(ctx, who, intake.CodeLifetime)
		if err != nil {
			return err
		}
		if !ok {
			_, err = fmt.Fprintf(o.Out, "%s has access already.\n", personName(g))
			return err
		}
		return o.reportPaired(g)
	})
}

// reportPaired records and prints that a person has access now.
func (o Options) reportPaired(g store.Pairing) error {
	o.Record(audit.Paired, g)
	_, err := fmt.Fprintf(o.Out, "%s may talk to the bot now.\n", personName(g))
	return err
}

// ListPeople prints who has access and which codes are open. allowFrom has the user IDs in the
// config, by channel.
func ListPeople(ctx context.Context, o Options, allowFrom map[string][]string) error {
	return o.withStore(ctx, func(s store.Store) error {
		pairings, err := s.Pairings(ctx)
		if err != nil {
			return err
		}
		roles, err := s.ListRecords(ctx, access.RolePrefix)
		if err != nil {
			return err
		}
		var lines []string
		for _, channel := range slices.Sorted(maps.Keys(allowFrom)) {
			for _, id := range allowFrom[channel] {
				lines = append(lines, fmt.Sprintf("%s:%s\tin allowFrom of the config", channel, id))
			}
		}
		for _, g := range pairings {
			state := "paired " + g.Since.Local().Format(time.DateTime)
			if g.Code != "" {
				left := intake.CodeLifetime - time.Since(g.Since)
				if left <= 0 {
					continue
				}
				state = fmt.Sprintf("waiting, code %s, valid for %s", g.Code, max(left.Round(time.Minute), time.Minute))
			}
			if as := roles[access.RoleRecord(store.Person{Channel: g.Channel, User: g.User.ID})]; as != "" {
				state += ", role " + as
			}
			lines = append(lines, personName(g)+"\t"+state)
		}
		if len(lines) == 0 {
			lines = []string{"Nobody has access yet, and nobody is waiting."}
		}
		_, err = fmt.Fprintln(o.Out, strings.Join(lines, "\n"))
		return err
	})
}

// Revoke revokes the access of a person. listed says that the config has them in allowFrom, so that
// they keep it.
func Revoke(ctx context.Context, o Options, who store.Person, listed bool) error {
	return o.withStore(ctx, func(s store.Store) error {
		name := who.Channel + ":" + who.User
		ok, err := s.Revoke(ctx, who, !listed)
		if err == nil && !listed {
			err = forgetRole(ctx, s, who)
		}
		if err != nil {
			return err
		}
		if ok {
			o.Record(audit.Revoked, store.Pairing{Channel: who.Channel, User: channels.User{ID: who.User}})
		}
		switch {
		case listed:
			return fmt.Errorf("%s is in allowFrom of %s; remove it there and reload the config (SIGHUP)", name, o.Config.File())
		case !ok:
			return fmt.Errorf("%s has no access: it was not paired and is not in allowFrom", name)
		}
		end := "no longer has access."
		if !o.awaitStopped(ctx, s) {
			end = "no longer has access. A running turn has not ended yet; its output is not sent."
		}
		_, err = fmt.Fprintf(o.Out, "%s %s\n", name, end)
		return err
	})
}

// personName returns the ID and the display name of a person.
func personName(g store.Pairing) string {
	name := g.Channel + ":" + g.User.ID
	if g.User.Name != "" {
		name += fmt.Sprintf(" (%q)", g.User.Name) // quoted, because strangers choose it
	}
	return name
}
