package gateway

import (
	"bytes"
	"context"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/intake"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// controlTimeout bounds the time that a protocol may take for a command.
const controlTimeout = 10 * time.Second

// Controls returns the commands of the agent's protocol.
func (g *Direct) Controls() []terminal.Command { return g.Runner.Controls() }

// Control has the agent's protocol carry out a message, if the protocol accepts it, and sends the
// reply. It reports false for a message that is to get a turn.
func (g *Direct) Control(ctx context.Context, ch channels.Channel, in channels.Incoming) (bool, error) {
	request := intake.ParseControl(g.Runner.Controls(), in.Chat.String(), in.Text)
	request.Words = g.Words
	if len(in.Media) > 0 || !g.Runner.AcceptsControl(request.Chat, request.Command) {
		return false, nil
	}
	sending := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	r, err := g.Runner.Control(ctx, request)
	if err != nil {
		g.Log.Warn("command not carried out", zap.Stringer("chat", in.Chat), zap.String("command", request.Command),
			zap.Error(err))
		r = terminal.ControlReply{Text: g.Words.Text(words.TextFailed, err)}
	}
	m := channels.Message{Kind: channels.Answer, Text: r.Text, Screen: display.Screen(r.Screen)}
	for _, f := range r.Files {
		path, err := g.writeToChat(in.Chat, f.Name, bytes.NewReader(f.Content))
		if err != nil {
			g.Log.Warn("file of a reply not kept", zap.Error(err))
			m.Text = g.addNotSaved(m.Text, f.Name)
			continue
		}
		m.Media = append(m.Media, channels.File{
			Path: path, Name: filepath.Base(path), Kind: channels.KindOf(path),
			Size: int64(len(f.Content)),
		})
	}
	return true, reply{ch: ch, in: in}.send(sending, m)
}
