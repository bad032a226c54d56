package postgres

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// ofPairing is the scope of a change of what is known of outsiders, and of chats.
func ofPairing(chats ...string) scope { return ofNames("", append(chats, "pairing")...) }

// Allowed reports whether a user was admitted by pairing.
func (s access) Allowed(ctx context.Context, channel, user string) (bool, error) {
	return readValue[bool](ctx, s.state, fmt.Sprintf("look up user %s of %s", user, channel),
		"SELECT to_json(EXISTS (SELECT 1 FROM pairing WHERE channel = $1 AND person = $2 AND code = ''))", channel, user)
}

// normalizeCode returns a code in its stored form. Operators may type it in lower case or with
// spaces around it.
func normalizeCode(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// RequestPairing handles a message of a person without access.
func (s access) RequestPairing(ctx context.Context, r store.PairingRequest) (result store.PairingResult, err error) {
	part, in := partOf(r.In), r.In
	in.Part, in.Raw, in.Media = nil, nil, nil
	if q := in.ReplyTo; q != nil && len(q.Media) > 0 {
		in.ReplyTo = &channels.Quote{ID: q.ID, Text: q.Text}
	}
	incoming := ""
	if in.Text != "" && in.Press == "" {
		incoming = encodeJSON(in)
	}
	err = s.change(ctx, changeRequest{
		what: fmt.Sprintf("refuse message %s of %s", in.ID, in.Chat), function: "request_pairing",
		scope: ofPairing(append(chatsOf(r.Coded, r.Later), in.Chat.String())...),
		args: map[string]any{
			"channel": in.Chat.Channel, "person": in.User.ID, "name": in.User.Name, "username": in.User.Username,
			"chat": in.Chat.String(), "message": in.ID, "part": part, "incoming": incoming, "code": normalizeCode(r.Code),
			"life": r.Limits.Life.Microseconds(), "open": r.Limits.Open, "perHour": r.Limits.PerHour,
			"coded": prepareEach(r.Coded), "later": prepareEach(r.Later),
		},
	}, &result)
	if err == nil && result != store.AlreadyAdmitted {
		s.moveCursor(in.Chat.Channel, r.Cursor)
	}
	return result, err
}

// chatsOf returns the keys of the chats of messages.
func chatsOf(all ...[]channels.Outgoing) (keys []string) {
	for _, parts := range all {
		for i := range parts {
			keys = append(keys, parts[i].Chat.String())
		}
	}
	return keys
}

// Accept admits the person to whom a code was given.
func (s access) Accept(ctx context.Context, code string, ttl time.Duration) (store.Pairing, bool, error) {
	return s.admit(ctx, "accept a pairing code", map[string]any{"code": normalizeCode(code)}, ttl)
}

// Admit admits a user by ID.
func (s access) Admit(ctx context.Context, p store.Person, ttl time.Duration) (store.Pairing, bool, error) {
	return s.admit(ctx, fmt.Sprintf("admit user %s of %s", p.User, p.Channel), personArgs(p, nil), ttl)
}

func (s access) admit(ctx context.Context, what string, args map[string]any, ttl time.Duration) (
	store.Pairing, bool, error,
) {
	args["ttl"] = ttl.Microseconds()
	var result struct {
		Pairing  store.Pairing
		Admitted bool
	}
	err := s.change(ctx, changeRequest{what: what, function: "admit", scope: ofPairing(), args: args, hint: true}, &result)
	return result.Pairing, result.Admitted, err
}

// personArgs returns the arguments of a change of a person, with others.
func personArgs(p store.Person, others map[string]any) map[string]any {
	args := map[string]any{"channel": p.Channel, "person": p.User}
	maps.Copy(args, others)
	return args
}

const selectPairing = "SELECT pairing_json(p) FROM pairing p "

// PairingsToGreet returns the admitted users who were not told yet, or whose message was not
// handled yet.
func (s access) PairingsToGreet(ctx context.Context, p store.Person) ([]store.Pairing, error) {
	return readAll[store.Pairing](ctx, s.state, "read pairings to greet", selectPairing+
		"WHERE welcome > 0 AND ($1 = '' AND $2 = '' OR channel = $1 AND person = $2) ORDER BY channel, person",
		p.Channel, p.User)
}

// Pairings returns all users who were admitted by pairing or wait for it.
func (s access) Pairings(ctx context.Context) ([]store.Pairing, error) {
	return readAll[store.Pairing](ctx, s.state, "read pairings", selectPairing+"ORDER BY channel, person")
}

// Greet stores the greeting of an admitted user in the outbox, once.
func (s access) Greet(ctx context.Context, p store.Person, parts []channels.Outgoing) (greeted bool, err error) {
	err = s.change(ctx, changeRequest{
		what: fmt.Sprintf("greet user %s of %s", p.User, p.Channel), function: "greet",
		scope: ofPairing(chatsOf(parts)...),
		args:  personArgs(p, map[string]any{"parts": prepareEach(parts)}),
	}, &greeted)
	return greeted, err
}

// ForgetMessage removes the stored message of an admitted user.
func (s access) ForgetMessage(ctx context.Context, p store.Person) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("forget the message of user %s of %s", p.User, p.Channel), function: "forget_message",
		scope: ofPairing(), args: personArgs(p, nil),
	}, nil)
}

// Revoke removes the pairing of a user.
func (s access) Revoke(ctx context.Context, p store.Person, dismiss bool) (bool, error) {
	return s.dismiss(ctx, "revoke", p, true, dismiss)
}

// Dismiss ends the work of a person who has lost access.
func (s access) Dismiss(ctx context.Context, p store.Person) error {
	_, err := s.dismiss(ctx, "dismiss", p, false, true)
	return err
}

func (s access) dismiss(ctx context.Context, what string, p store.Person, revoke, dismiss bool) (bool, error) {
	var result struct {
		Revoked bool
		Unused  []string
	}
	err := s.change(ctx, changeRequest{
		what: fmt.Sprintf("%s user %s of %s", what, p.User, p.Channel), function: "dismiss", hint: true,
		scope: scope{"person", encodeJSON([]string{p.Channel, p.User})},
		args:  personArgs(p, map[string]any{"revoke": revoke, "dismiss": dismiss}),
	}, &result)
	s.spool.Remove(result.Unused)
	return result.Revoked, err
}

// Dismissed returns the running inbound messages and the deliveries being sent of people who have
// lost access.
func (s access) Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error) {
	all, err := readValue[[2][]int64](ctx, s.state, "read dismissed turns", `SELECT json_build_array(
		ARRAY(SELECT id FROM inbox WHERE state = 'running' AND ended = 0 AND status = 'revoked' ORDER BY id),
		ARRAY(SELECT id FROM outbox WHERE state = 'sending' AND state <> 'sent' AND dropped ORDER BY id))`)
	return all[0], all[1], err
}

// BusyUnpaired returns the users of a channel who have unfinished work and were not admitted by
// pairing.
func (s access) BusyUnpaired(ctx context.Context, channel string) ([]string, error) {
	return readAll[string](ctx, s.state, "read busy users of "+channel, `SELECT to_json(person) FROM (
			SELECT i.person, i.chat FROM inbox i WHERE i.ended = 0 AND i.state IN ('pending', 'running')
			UNION SELECT i.person, i.chat FROM outbox o JOIN inbox i ON i.id = greatest(o.inbound, o.about)
				WHERE o.state = 'pending' AND o.state <> 'sent') busy
		WHERE chat >= $1 || ':' AND chat < $1 || ';' AND person <> ''
			AND person NOT IN (SELECT p.person FROM pairing p WHERE p.channel = $1 AND p.code = '') GROUP BY person`, channel)
}

// PruneCodes deletes expired codes and other expired data of outsiders.
func (s access) PruneCodes(ctx context.Context, life time.Duration) error {
	return s.change(ctx, changeRequest{
		what: "delete expired data of outsiders", function: "prune_codes", scope: ofPairing(),
		args: map[string]any{"life": life.Microseconds()},
	}, nil)
}
