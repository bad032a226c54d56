package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

// Accept lets in the person who was given a pairing code.
func Accept(ctx context.Context, o Options, code string) error {
	return o.withStore(ctx, func(s store.Store) error {
		g, ok, err := s.Accept(ctx, strings.ToUpper(strings.TrimSpace(code)), intake.CodeLifetime)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("code %q is not known or has ended (a code is good for %d minutes, and of too many the oldest ends); "+
				"have them write to the bot again, or let them in by id: nanobot pair CHANNEL:ID", code, int(intake.CodeLifetime.Minutes()))
		}
		return o.letIn(g)
	})
}

// Admit lets a person in, whether or not they have written yet.
func Admit(ctx context.Context, o Options, who store.Person) error {
	return o.withStore(ctx, func(s store.Store) error {
		g, ok, err := s.Admit(ctx, who, intake.CodeLifetime)
		if err != nil {
			return err
		}
		if !ok {
			_, err = fmt.Fprintf(o.Out, "%s was let in already.\n", name(g))
			return err
		}
		return o.letIn(g)
	})
}

// letIn records and prints that a person was let in.
func (o Options) letIn(g store.Pairing) error {
	o.Record(audit.Paired, g)
	_, err := fmt.Fprintf(o.Out, "%s may talk to the bot now.\n", name(g))
	return err
}

// ListPeople prints who is let in and which codes are open. allowFrom has the people of the config,
// by channel.
func ListPeople(ctx context.Context, o Options, allowFrom map[string][]string) error {
	return o.withStore(ctx, func(s store.Store) error {
		pairings, err := s.Pairings(ctx)
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
			state := "let in " + g.Since.Local().Format(time.DateTime)
			if g.Code != "" {
				left := intake.CodeLifetime - time.Since(g.Since)
				if left <= 0 {
					continue
				}
				state = fmt.Sprintf("waits, code %s, good for %s", g.Code, max(left.Round(time.Minute), time.Minute))
			}
			lines = append(lines, name(g)+"\t"+state)
		}
		if len(lines) == 0 {
			lines = []string{"Nobody is let in, and nobody waits."}
		}
		_, err = fmt.Fprintln(o.Out, strings.Join(lines, "\n"))
		return err
	})
}

// Revoke shuts a person out again. listed says that the config lets them in, so that they stay in.
func Revoke(ctx context.Context, o Options, who store.Person, listed bool) error {
	return o.withStore(ctx, func(s store.Store) error {
		name := who.Channel + ":" + who.User
		ok, err := s.Revoke(ctx, who, !listed)
		if err != nil {
			return err
		}
		if ok {
			o.Record(audit.Revoked, store.Pairing{Channel: who.Channel, User: channels.User{ID: who.User}})
		}
		switch {
		case listed:
			return fmt.Errorf("%s is let in by allowFrom in %s, and stays in until it is taken out there and the config is read again (SIGHUP)", name, o.Config.File())
		case !ok:
			return fmt.Errorf("%s was not let in by nanobot pair, and is not in allowFrom", name)
		}
		end := "is shut out."
		if !o.awaitStopped(ctx, s) {
			end = "is shut out. A running turn has not ended yet; nothing that it says is sent."
		}
		_, err = fmt.Fprintf(o.Out, "%s %s\n", name, end)
		return err
	})
}

func name(g store.Pairing) string {
	name := g.Channel + ":" + g.User.ID
	if g.User.Name != "" {
		name += fmt.Sprintf(" (%q)", g.User.Name) // quoted: it is what a stranger typed
	}
	return name
}
