package channelstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest/fakenet"
)

// Remote has what the checks need of a network that a channel reaches over HTTP, with a token.
type Remote struct {
	// New returns another channel on the same network.
	New func(RemoteSettings) channels.Channel
	// WrongToken is a token that the network refuses.
	WrongToken string
	// RenameUser changes the name of the user.
	RenameUser func(name string)
	// UserSendsFile makes the user send a file in Chat, with a text.
	UserSendsFile func(text, name, content string)
	// UserReplies makes the user reply in Chat to an earlier message, which has this ID.
	UserReplies func(to, text string)
	// FailSend and FailDownload make the next sends of a text and the next downloads fail.
	FailSend, FailDownload func(faults ...fakenet.Fault)
	// Downloads returns the number of downloads so far.
	Downloads func() int
	// AdvanceClock changes the clock of the network.
	AdvanceClock func(d time.Duration)
	// AwaitDisconnected waits until the bot has no connection. It reports false after the timeout.
	AwaitDisconnected func(timeout time.Duration) bool
}

// RemoteSettings are settings that differ from those of Subject.Channel.
type RemoteSettings struct {
	Token    string // "" is the correct token
	Admitted func(user string) bool
}

var remoteChecks = []check{
	{"a download that fails is tried again", downloadIsRepeated},
	{"files of strangers are not downloaded", strangersFilesStay},
	{"a press of a stranger leaves the buttons", strangersPressLeavesButtons},
	{"a reply quotes the text and the file that it replies to", replyQuotes},
	{"a send whose answer was lost or cannot be read is unknown", lostAnswerIsUnknown},
	{"a wrong token ends Run, and Examine names it", wrongTokenIsNamed},
	{"bidi controls are removed from names of users, and from nothing else", userNamesAreSanitized},
	{"Examine compares the clocks", clocksAreCompared},
	{"CloseIdleConnections closes the connections", idleConnectionsAreClosed},
	{"a file that cannot be read any more is named", missingFileIsNamed},
}

// remote returns errNotApplicable for a channel without a remote network.
func (fx fixture) remote() (*Remote, error) {
	if fx.Remote == nil {
		return nil, errNotApplicable
	}
	return fx.Remote, nil
}

// nobody admits no user.
func nobody(string) bool { return false }

// receiveFrom starts a channel, lets the user do something, and waits until n messages are
// received.
func (fx fixture) receiveFrom(ctx context.Context, ch channels.Channel, n int, userActs func()) ([]channels.Incoming, error) {
	h := newReceivedMessages(n)
	in := fx.withChannel(ch).startRun(ctx, h.receive)
	defer func() { _ = in.stop() }()
	userActs()
	err := in.waitFor(h.complete, fmt.Sprintf("all %d messages were received", n))
	return h.messages(), err
}

func downloadIsRepeated(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	net.FailDownload(fakenet.Fault{CutAfter: true}, fakenet.BadGateway())
	got, err := fx.receiveFrom(ctx, fx.Channel, 1, func() { net.UserSendsFile("look", "a.txt", "all of it") })
	if err != nil {
		return err
	}
	if len(got[0].Media) != 1 || got[0].Text != "look" {
		return fmt.Errorf("a file whose download failed twice is received as %+v", got[0])
	}
	if content, err := os.ReadFile(got[0].Media[0]); err != nil || string(content) != "all of it" {
		return fmt.Errorf("the file has the content %q (%w)", content, errOrNil(err))
	}
	if left, err := os.ReadDir(filepath.Dir(got[0].Media[0])); err != nil || len(left) != 1 {
		return fmt.Errorf("left behind: %v (%w)", left, errOrNil(err))
	}
	return nil
}

func strangersFilesStay(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	ch := net.New(RemoteSettings{Admitted: nobody})
	got, err := fx.receiveFrom(ctx, ch, 1, func() { net.UserSendsFile("look", "a.txt", "a") })
	if err != nil {
		return err
	}
	if !strings.HasPrefix(got[0].Text, "look") || len(got[0].Media) != 0 || net.Downloads() != 0 {
		return fmt.Errorf("after %d downloads a stranger's file is received as %+v", net.Downloads(), got[0])
	}
	return nil
}

func strangersPressLeavesButtons(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	fx = fx.withChannel(net.New(RemoteSettings{Admitted: nobody}))
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if err := fx.sendQuestion(ctx); err != nil {
		return err
	}
	for i := range 20 { // the channel may remove buttons in the background, and has time until the last press
		if err := fx.PressButton("No"); err != nil {
			return fmt.Errorf("press of a stranger: %w", err)
		}
		after := fmt.Sprintf("after press %d", i)
		fx.UserSends(after)
		if err := c.waitForText(after); err != nil {
			return err
		}
	}
	return nil
}

func replyQuotes(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	c := fx.startCollecting(ctx)
	defer func() { _ = c.stop() }()
	net.UserSendsFile("look", "photo.png", "a picture")
	if err := c.waitForText("look"); err != nil {
		return err
	}
	asked := c.received.messages()[0]
	net.UserReplies(asked.ID, "nice?")
	if err := c.waitForText("nice?"); err != nil {
		return err
	}
	q := c.received.messages()[1].ReplyTo
	if q == nil || q.ID != asked.ID || q.Text != "look" || len(q.Media) != 1 || len(asked.Media) != 1 || q.Media[0] != asked.Media[0] {
		return fmt.Errorf("the message %+v is quoted as %+v", asked, q)
	}
	if content, err := os.ReadFile(q.Media[0]); err != nil || string(content) != "a picture" {
		return fmt.Errorf("the quoted file has the content %q (%w)", content, errOrNil(err))
	}
	return nil
}

// lostAnswerIsUnknown checks that the gateway does not repeat a send like one that was never made.
func lostAnswerIsUnknown(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	o, err := fx.planSingleCall("hello")
	if err != nil {
		return err
	}
	faults := []fakenet.Fault{{CutBefore: true}, {CutAfter: true}, fakenet.BadGateway()}
	for _, body := range []string{`{}`, `null`, `[]`, `{"id":null}`, `{"id":"12`, `<html>`} {
		faults = append(faults, fakenet.Fault{Body: body})
	}
	for _, f := range faults {
		net.FailSend(f)
		_, err := fx.Channel.Send(ctx, o)
		var failed *channels.SendError
		if !errors.As(err, &failed) || !failed.Unknown || failed.Permanent {
			return fmt.Errorf("the fault %+v means %w, which is not unknown", f, errOrNil(err))
		}
	}
	return nil
}

func wrongTokenIsNamed(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	wrong := RemoteSettings{Token: net.WrongToken}
	in := fx.withChannel(net.New(wrong)).startRun(ctx, func(context.Context, channels.Incoming) error { return nil })
	err = in.waitFor(nil, "its context had ended")
	_ = in.stop()
	key := "channels." + fx.Chat.Channel + ".token"
	if !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), net.WrongToken) {
		return fmt.Errorf("with a wrong token %w", err)
	}
	fx.Secrets = append([]string{net.WrongToken}, fx.Secrets...)
	found, err := fx.withChannel(net.New(wrong)).examine(ctx, channels.ExamineOptions{})
	if err != nil {
		return err
	}
	if bad := badFindings(found); len(bad) != 1 || bad[0].Check != fx.Chat.Channel+".token" || !strings.Contains(bad[0].Fix, key) {
		return fmt.Errorf("with a wrong token Examine finds %+v", found)
	}
	return nil
}

func userNamesAreSanitized(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	net.RenameUser("Ada\u202e\u2067gnp")
	got, err := fx.receiveFrom(ctx, fx.Channel, 1, func() { fx.UserSends("hello\u202e") })
	if err != nil {
		return err
	}
	if name := got[0].User.Name; name != "Adagnp" || got[0].Text != "hello\u202e" { // texts are for the agent
		return fmt.Errorf("the name is received as %+q, and the text as %+q", name, got[0].Text)
	}
	return nil
}

func clocksAreCompared(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		advance time.Duration
		says    string
	}{{time.Hour, "behind"}, {-2 * time.Hour, "ahead of"}} {
		net.AdvanceClock(c.advance)
		found, err := fx.examine(ctx, channels.ExamineOptions{Running: true})
		if err != nil {
			return err
		}
		said := false
		for _, f := range found {
			said = said || f.Check == fx.Chat.Channel+".clock" && f.Status == channels.Doubtful && strings.Contains(f.Detail, c.says)
		}
		if !said {
			return fmt.Errorf("the clock is %s that of the network, and Examine finds %+v", c.says, found)
		}
	}
	return nil
}

func idleConnectionsAreClosed(ctx context.Context, fx fixture) error {
	net, err := fx.remote()
	if err != nil {
		return err
	}
	if _, err := fx.planAndSend(ctx, fx.newAnswer("hello")); err != nil {
		return err
	}
	fx.Channel.(channels.ConnectionKeeper).CloseIdleConnections()
	if !net.AwaitDisconnected(waitLimit) {
		return errors.New("a connection stays open")
	}
	return nil
}

// missingFileIsNamed removes a file between Plan and Send. The text still arrives.
func missingFileIsNamed(ctx context.Context, fx fixture) error {
	if _, err := fx.remote(); err != nil {
		return err
	}
	for _, name := range []string{"a.png", "a.ogg", "a.pdf"} {
		f, err := fx.writeFile("missing", name)
		if err != nil {
			return err
		}
		plan, err := fx.Channel.Plan(fx.newAnswer("look", f))
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		if err := os.Remove(f.Path); err != nil {
			return err
		}
		sent, err := fx.sendPlan(ctx, plan)
		if err != nil {
			return err
		}
		text := strings.Join(textsOf(sent), "\n")
		if !strings.HasPrefix(text, "look") || !strings.Contains(text, name) || len(filesOf(sent)) > 0 {
			return fmt.Errorf("the file %s, which is gone, is sent as %+v", name, sent)
		}
	}
	return nil
}
