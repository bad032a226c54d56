package gateway_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
)

var update = flag.Bool("update", false, "write the golden files again")

// chatNetwork is a strict server of a chat network with one person, ada, who talks to the bot.
type chatNetwork interface {
	say(text string)
	album(caption string, pictures int)
	// press presses the button with a label under the newest message that has one.
	press(label string)
	// await waits until the chat shows a message that contains text.
	await(text string)
	// awaitRemoval waits until the chat shows no message that contains text.
	awaitRemoval(text string)
	// limitNextSend makes the network refuse the next send with a 429.
	limitNextSend()
	// loseNextReceipt makes the next send take effect without a usable answer.
	loseNextReceipt()
	// transcript lists every call that changed something, by the message that it was about.
	transcript() string
}

// conversation is what ada does with an agent.
type conversation struct {
	agent string // a shell script that prints frames
	play  func(r *fixture, n chatNetwork)
}

const (
	markdownAnswer = "# Title\n\nSome **bold**, *italic*, `code` and [a link](https://example.org/).\n\n" +
		"- one\n- two\n  1. deep\n\n> quoted\n\n| a | b |\n| --- | ---: |\n| x | 10 |\n| longer | 2 |\n\n```go\nfunc main() {}\n```\n\n~~gone~~ ||hidden|| $(x) <b>&amp;"
	pictures = `"media":["'$PWD'/a.png","'$PWD'/b.png"]`
)

// conversations are played on every network. Agents wait for files that the test makes, so that the
// calls do not depend on time.
var conversations = map[string]conversation{
	"text": {
		agent: `read -r line; echo '{"type":"message","text":"first"}'; echo '{"type":"message","text":"second"}'; echo plain line`,
		play: func(_ *fixture, n chatNetwork) {
			n.say("hello")
			n.await("plain line")
		},
	},
	"markdown": {
		agent: `cat answer.json`,
		play: func(r *fixture, n chatNetwork) {
			r.writeFrame("answer.json", markdownAnswer)
			n.say("format it")
			n.await("func main")
		},
	},
	"long": {
		agent: `read -r line; case $line in *file*) cat file.json;; *) cat long.json;; esac`,
		play: func(r *fixture, n chatNetwork) {
			r.writeFrame("long.json", strings.Repeat("A paragraph of some length that ends here.\n\n", 150)+"the end")
			r.writeFrame("file.json", strings.Repeat("One line of a very long answer.\n", 2000)+"the end")
			n.say("long")
			n.await("the end")
			r.awaitNoTurn()
			n.say("as a file")
			n.await("One line")
		},
	},
	"formats": {
		agent: `read -r line; case $line in *columns*) printf ' a  *b*\n 1  __2__\n';; *) printf '# x\n__init__ *\n';; esac`,
		play: func(r *fixture, n chatNetwork) {
			n.say("columns")
			n.await("*b*")
			r.awaitNoTurn()
			n.say("text")
			n.await("init")
		},
	},
	"albums": {
		agent: `read -r line; n=$(printf %s "$line" | grep -o 'photo[^"]*\.png\|image[^"]*\.png' | wc -l); echo '{"type":"message","text":"here",` + pictures + `}'
			echo '{"type":"message","text":"a file","media":["'$PWD'/notes.txt"]}'; echo '{"type":"message","text":"done"}'`,
		play: func(r *fixture, n chatNetwork) {
			r.writePictures()
			n.album("look", 3)
			n.await("done")
		},
	},
	"progress": {
		agent: `echo '{"type":"progress","text":"step one"}'; ` + waitForFileScript("one") + `echo '{"type":"progress","text":"step two"}'; ` + waitForFileScript("two") + `echo '{"type":"message","text":"finished"}'`,
		play: func(r *fixture, n chatNetwork) {
			n.say("work")
			n.await("step one")
			r.touchFile("one")
			n.await("step two")
			r.touchFile("two")
			n.await("finished")
		},
	},
	"question": {
		agent: `read -r line; echo '{"type":"ask","id":"q","text":"Red or blue?","options":["Red","Blue"]}'; read -r answer; echo '{"type":"message","text":"chosen"}'`,
		play: func(_ *fixture, n chatNetwork) {
			n.say("ask me")
			n.await("Red or blue?")
			n.press("Blue")
			n.await("chosen")
		},
	},
	"failure": {
		agent: `read -r line; case $line in *frame*) echo '{"type":"error","code":"E_OOPS","text":"it broke"}';; *) echo partly; echo trouble >&2; exit 3;; esac`,
		play: func(r *fixture, n chatNetwork) {
			n.say("frame")
			n.await("it broke")
			r.awaitNoTurn()
			n.say("exit")
			n.await("Exit code: 3")
		},
	},
	"commands": {
		agent: `read -r line; echo '{"type":"progress","text":"working"}'; ` + waitForFileScript("go") + `echo '{"type":"message","text":"never"}'`,
		play: func(_ *fixture, n chatNetwork) {
			n.say("/help")
			n.await("/stop")
			n.say("/whoami")
			n.await("user id")
			n.say("/new")
			n.await("This is a new conversation")
			n.say("begin")
			n.await("working")
			n.say("another")
			n.await("Queued")
			n.press("Cancel")
			n.await("ancelled")
			n.awaitRemoval("Queued") // otherwise it may be removed in one call with the progress
			n.say("/stop")
			n.await("topped")
		},
	},
	"faults": {
		agent: `read -r line; text=${line#*'"text":"'}; echo '{"type":"message","text":"you said '"${text%%'"'*}"'"}'`,
		play: func(r *fixture, n chatNetwork) {
			n.limitNextSend()
			n.say("slow down")
			n.await("you said slow down")
			r.awaitNoTurn()
			n.loseNextReceipt()
			n.say("in doubt")
			n.await("↻ you said in doubt")
		},
	},
}

// writeFrame writes a message frame with a text into a file of the workspace.
func (fx *fixture) writeFrame(name, text string) {
	fx.t.Helper()
	line := `{"type":"message","text":` + quoteJSON(text) + "}\n"
	musttest.Do(fx.t, os.WriteFile(filepath.Join(fx.dir, name), []byte(line), 0o600))
}

// awaitNoTurn waits until no turn runs in any chat.
func (fx *fixture) awaitNoTurn() {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(2 * time.Millisecond) {
		running, err := fx.store.Turns(fx.t.Context(), store.TurnFilter{Outcome: string(store.Running), Limit: 1})
		if err == nil && len(running) == 0 {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("a turn still runs: %v, %v", running, err)
		}
	}
}

func TestEveryCallOfFixedConversations(t *testing.T) {
	t.Parallel()
	for network, open := range map[string]func(*fixture) chatNetwork{"telegram": openTelegram, "discord": openDiscord} {
		for name, c := range conversations {
			t.Run(network+"/"+name, func(t *testing.T) {
				t.Parallel()
				// A board shows the time of its turn after 15 seconds.
				pausetest.Try(t, 5*time.Second, func() error {
					fx := newFixture(t, c.agent)
					if fx.terminal.Interactive = name == "question"; name == "formats" {
						fx.terminal.Format = "auto"
					}
					n := open(fx)
					c.play(fx, n)
					fx.stop()
					return compareGolden(t, filepath.Join("testdata", "conversations", network+"-"+name+".txt"), n.transcript())
				})
			})
		}
	}
}

func compareGolden(t *testing.T, path, got string) error {
	t.Helper()
	if *update {
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		musttest.Do(t, os.WriteFile(path, []byte(got), 0o644))
		return nil
	}
	want := musttest.Get(os.ReadFile(path))(t)
	if got != string(want) {
		return fmt.Errorf("the calls differ from %s (go test -run %s -update writes it again):\n%s", path, t.Name(), lineDiff(string(want), got))
	}
	return nil
}

// lineDiff lists the lines that only one of two texts has.
func lineDiff(want, got string) string {
	var out []string
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]++
	}
	for line := range strings.Lines(got) {
		if count[line]--; count[line] < 0 {
			out = append(out, "+ "+strings.TrimSuffix(line, "\n"))
		}
	}
	for line := range strings.Lines(want) {
		if count[line] > 0 {
			count[line]--
			out = append(out, "- "+strings.TrimSuffix(line, "\n"))
		}
	}
	if len(out) == 0 {
		return "the same lines in another order:\n" + got
	}
	return strings.Join(out, "\n")
}
