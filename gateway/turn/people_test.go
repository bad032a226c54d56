package turn_test

import (
	"context"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/terminal"
)

// fakeAccess admits everybody except the user stranger.
type fakeAccess struct{}

func (fakeAccess) AdmitsMessage(_ context.Context, in channels.Incoming) (bool, error) {
	user := in.User.ID
	return user != "stranger", nil
}

func (fakeAccess) Sessions(context.Context, channels.Incoming, string) (terminal.SessionAccess, error) {
	return terminal.OwnSessions, nil
}

func (fakeAccess) RoleOf(context.Context, channels.Incoming) (role.Role, error) {
	return role.None, nil
}

func (fakeAccess) LastAdmitted(context.Context, channels.Chat) (int64, bool, error) {
	return 0, false, nil
}

// fakeChoice has one agent for all chats.
type fakeChoice struct{ agent *string }

func (c fakeChoice) Next(context.Context, channels.Chat) (name string, err error) {
	return *c.agent, nil
}

func (fakeChoice) AgentCommands(_ string, about terminal.AgentInfo) (all []channels.Command) {
	for _, c := range about.Commands {
		all = append(all, channels.Command{Name: c.Name})
	}
	return all
}

type fakeNotices struct{}

func (fakeNotices) Announce(store.Inbound) {}
func (fakeNotices) Recheck(channels.Chat)  {}
