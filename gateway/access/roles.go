package access

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/role"
)

// RoleRecord is the key of the record with the role that the operator has given a person, and
// RolePrefix its beginning. The settings win over the record.
func RoleRecord(p store.Person) string { return RolePrefix + p.Channel + ":" + p.User }

// RolePrefix is the beginning of RoleRecord.
const RolePrefix = "role/"

// Role returns the role of a person.
func (a *Access) Role(ctx context.Context, p store.Person) (role.Role, error) {
	roles := a.o.Settings().Roles
	if roles == nil {
		return role.None, nil
	}
	if r := role.Of(roles, p.Channel+":"+p.User); r != role.None {
		return r, nil
	}
	stored, err := a.o.Store.LoadRecord(ctx, RoleRecord(p))
	if err != nil {
		return role.None, fmt.Errorf("look up role: %w", err)
	}
	if role.Valid(stored) {
		return role.Role(stored), nil
	}
	return role.User, nil
}

// RoleOf returns the role with which the text of a message counts: that of its sender. Text that
// nobody has typed counts at most as that of a user, since agents and other programs write it.
func (a *Access) RoleOf(ctx context.Context, in channels.Incoming) (role.Role, error) {
	user, _ := in.Responsible()
	r, err := a.Role(ctx, store.Person{Channel: in.Chat.Channel, User: user})
	if in.Origin != channels.Person {
		r = r.AtMost(role.User)
	}
	return r, err
}

// MaySwitch reports whether the sender of a message may choose an agent.
func (a *Access) MaySwitch(ctx context.Context, in channels.Incoming) (bool, error) {
	r, err := a.RoleOf(ctx, in)
	return err == nil && role.May(r, role.SwitchAgent, role.NoList), err
}

// May reports whether a person may do something for which there are no approvers.
func (a *Access) May(ctx context.Context, p store.Person, action role.Action) (bool, error) {
	r, err := a.Role(ctx, p)
	return err == nil && role.May(r, action, role.NoList), err
}

// MayApprove is May for an action that the approvers of an agent may do. Nobody may if the agent is
// not configured.
func (a *Access) MayApprove(ctx context.Context, agent string, p store.Person, action role.Action) (bool, error) {
	list, configured := a.o.Settings().Approvers[agent]
	if !configured {
		return false, nil
	}
	return a.mayListed(ctx, p, action, list)
}

// MayDecideRuns reports whether a person may decide in runs of runbooks.
func (a *Access) MayDecideRuns(ctx context.Context, p store.Person) (bool, error) {
	return a.mayListed(ctx, p, role.DecideRun, a.o.Settings().RunApprovers)
}

func (a *Access) mayListed(ctx context.Context, p store.Person, action role.Action, list []string) (bool, error) {
	r, err := a.Role(ctx, p)
	return err == nil && role.May(r, action, role.ListingOf(list, p.Channel+":"+p.User)), err
}
