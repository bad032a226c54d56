package gateway_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/blocks"
)

// remarks are what ada does after a remark that is not the answer of the model.
var remarks = map[string]func(*fixture, chatNetwork){
	"the button": func(_ *fixture, n chatNetwork) {
		n.press("No")
		n.await("→ No (by ada)")
	},
	"the word": func(_ *fixture, n chatNetwork) {
		n.say("no")
		n.await("→ No (by ada)")
	},
	"the answer itself": func(*fixture, chatNetwork) {},
	"the button after a restart": func(fx *fixture, n chatNetwork) {
		if _, ok := n.(telegramNetwork); ok { // Discord loses a press while the bot is not connected
			fx.stop()
			fx.start()
		}
		n.press("No")
		n.await("→ No (by ada)")
	},
}

func TestARemarkDuringATaskOfAPersonIsTakenBackOnEveryNetwork(t *testing.T) {
	t.Parallel()
	for network, open := range map[string]func(*fixture) chatNetwork{"telegram": openTelegram, "discord": openDiscord} {
		for name, takeBack := range remarks {
			t.Run(network+"/"+name, func(t *testing.T) {
				t.Parallel()
				fx := newFixture(t, "true")
				settings := blocks.NewSettings()
				settings.Agent = "person"
				fx.terminal.Protocols = config.Protocols{blocks.Name: settings}
				fx.protocol = blocks.New(fx.terminal)
				n := open(fx)
				n.say("fix it")
				n.await("Round 1")
				n.say("one moment, please")
				n.await("Was this the model's answer?")
				takeBack(fx, n)
				n.say("[DONE]\nall is fixed\n[/DONE]")
				n.await("all is fixed")
				fx.awaitNoTurn()
				fx.stop()
				if calls := n.transcript(); strings.Contains(calls, "Round 2") || strings.Count(calls, "Round 1: give this file") != 1 {
					t.Errorf("the remark has cost a round:\n%s", calls)
				}
			})
		}
	}
}

func TestARemarkAtATerminalIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string][]string{"no": {"one moment", "no", "[DONE]\nready\n[/DONE]"}, "the answer itself": {"one moment", "[DONE]\nready\n[/DONE]"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				settings := blocks.NewSettings()
				settings.Agent = "person"
				g := newDirectDialog(t, blocks.New(config.Terminal{Protocols: config.Protocols{blocks.Name: settings}}))
				lines := make(chan string, 2)
				g.Answer = func(ctx context.Context) (string, error) {
					select {
					case line := <-lines:
						return line, nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}
				g.Listen = func(ctx context.Context) (channels.Incoming, error) {
					line, err := g.Answer(ctx)
					return channels.Incoming{Chat: hello.Chat, Text: line}, err
				}
				g.Dismissed = func(text string) { lines <- text }
				var typing sync.WaitGroup
				defer typing.Wait()
				typing.Go(func() {
					for _, line := range typed {
						time.Sleep(5 * time.Second)
						lines <- line
					}
				})
				w := &screenChannel{}
				out, err := g.Turn(t.Context(), w, hello)
				if err != nil || out.Status != terminal.Done {
					t.Fatalf("%+v, %v", out, err)
				}
				shown := w.texts()
				if strings.Count(shown, "give this file") != 1 || strings.Count(shown, "Was this the model's answer?") != 1 || !strings.Contains(shown, "ready") {
					t.Error(shown)
				}
			})
		})
	}
}
