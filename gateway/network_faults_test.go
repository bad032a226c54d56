package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// newRandom returns a random source. Its seed is logged when the test fails, and can be set
// with NANOBOT_SEED.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("NANOBOT_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// faultyNetwork makes about every fourth send fail, and records the calls whose outcome the gateway
// cannot know.
type faultyNetwork struct {
	mu      sync.Mutex
	random  *rand.Rand
	unknown map[string]int // by key
}

func (tr *faultyNetwork) fault(c gatewaytest.Call) gatewaytest.Fault {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	switch tr.random.IntN(20) {
	case 0:
		return gatewaytest.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Duration(tr.random.IntN(300)) * time.Millisecond}
	case 1:
		return gatewaytest.Fault{Status: http.StatusInternalServerError}
	case 2: // a timeout before the effect, which leaves no doubt
		tr.unknown[c.Key]--
		return gatewaytest.Fault{DelayBefore: time.Minute}
	case 3: // and after it
		return gatewaytest.Fault{DelayAfter: time.Minute}
	case 4:
		tr.unknown[c.Key]++
		return gatewaytest.Fault{Disconnect: true}
	}
	return gatewaytest.Fault{}
}

// timedOut is called for each send that the channel gave up, because of a fault or because the
// machine is busy.
func (tr *faultyNetwork) timedOut(key string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.unknown[key]++
}

func TestAllMessagesArriveInOrderDespiteNetworkFaults(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	dir := t.TempDir()
	chooseState(t, filepath.Join(dir, ".nanobot"))
	spec := daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), OnCrash: "retry",
		Command: `read -r line; text=${line#*\"text\":\"}; n=${text%%\"*}; for i in a b; do echo "{\"type\":\"message\",\"text\":\"$n$i\"}"; done`,
	}
	var nets []*gatewaytest.Network
	var troubles []*faultyNetwork
	for i, idempotent := range []bool{true, false} {
		n := gatewaytest.NewNetwork()
		t.Cleanup(n.Close)
		tr := &faultyNetwork{random: rand.New(rand.NewPCG(random.Uint64(), 0)), unknown: map[string]int{}}
		n.Idempotent, n.Fault = idempotent, tr.fault
		nets, troubles = append(nets, n), append(troubles, tr)
		spec.Networks = append(spec.Networks, networkSpec{Name: fmt.Sprint("net", i), URL: n.URL, Idempotent: idempotent, Timeout: 500 * time.Millisecond, timedOut: tr.timedOut})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- spec.run(ctx, nil) }()
	const chats, questions = 6, 5
	var want []string
	for q := range questions {
		for _, part := range []string{"a", "b"} {
			want = append(want, strconv.Itoa(q)+part)
		}
		for _, n := range nets {
			for c := range chats {
				n.UserWrites(strconv.Itoa(c), "u", strconv.Itoa(q))
			}
		}
	}
	for i, n := range nets {
		for c := range chats {
			var got, mistakes []string
			calls, ok := n.Await(strconv.Itoa(c), 3*testTimeout, func(calls []gatewaytest.Call) bool {
				got, mistakes = troubles[i].readAnswers(calls, n.Idempotent)
				return len(got) >= len(want)
			})
			if !ok || strings.Join(got, " ") != strings.Join(want, " ") || len(mistakes) > 0 {
				t.Errorf("idempotent %v, chat %d: got %v, %v, of %+v", n.Idempotent, c, got, mistakes, calls)
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// read returns the answers that a chat was shown, each once, and what is wrong with those that were
// shown again: that is for networks that cannot tell, marked as a repetition, and no more often
// than a call's outcome was unknown.
func (tr *faultyNetwork) readAnswers(calls []gatewaytest.Call, idempotent bool) (texts, mistakes []string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	shown := map[string]int{}
	for _, c := range calls {
		if strings.HasPrefix(c.Text, "Queued") {
			continue
		}
		if shown[c.Key]++; shown[c.Key] == 1 {
			texts = append(texts, c.Text)
		} else if idempotent || !c.Repeat || shown[c.Key] > tr.unknown[c.Key]+1 {
			mistakes = append(mistakes, fmt.Sprintf("%s was shown %d times", c.Text, shown[c.Key]))
		}
	}
	return texts, mistakes
}

func TestAClockThatWasWrongNeitherDelaysNorDropsMessages(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Time{
		"far ahead":  time.Now().AddDate(50, 0, 0),
		"far behind": time.Unix(0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, echo)
			fx.net.Fault = faultOnce("hello", gatewaytest.Fault{Status: http.StatusInternalServerError})
			s := musttest.Get(openStateAt(t.Context(), filepath.Join(fx.dir, ".nanobot"), func() time.Time { return wrong }))(t)
			chat := channels.Chat{Channel: "net", ID: "1"}
			delivery, ok, err := s.Enqueue(t.Context(), store.Outbound{Parts: []channels.Outgoing{{Chat: chat, Kind: channels.Answer, Text: "hello"}}, Claim: true})
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			musttest.Get(s.Settle(t.Context(), delivery.ID, store.Settlement{State: store.Pending, Reason: "the network was away", After: time.Minute}))(t)
			in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "2"}, ID: "x", User: channels.User{ID: "u"}, Text: "early"}
			musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: in}))(t)
			musttest.Do(t, s.Close())
			fx.start()
			fx.expect("1", "hello")
			fx.expect("2", "you said early")
		})
	}
}

// A picture that changes while it is sent is either whole or named, never half of one and half of
// the other. An agent that changes it before its frame was even read cannot be told from one that
// made it so.
func TestAPictureThatChangesIsSentCompletelyOrReported(t *testing.T) {
	t.Parallel()
	const size = 1 << 18 // several buffers of a copy
	for name, change := range map[string]string{
		"overwritten": `cat new > $PWD/$n.png`, "truncated": `: > $PWD/$n.png`, "replaced": `cp new $n.tmp; mv $n.tmp $n.png`, "deleted": `rm $n.png`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, `read -r line; text=${line#*\"text\":\"}; n=${text%%\"*}; cp old $n.png; sleep 0.0$n
				echo '{"type":"message","text":"look","media":["'$PWD/$n'.png"]}'; sleep 0.00$n; `+change)
			for name, outbound := range map[string]string{"old": "o", "new": "n"} {
				musttest.Do(t, os.WriteFile(filepath.Join(fx.dir, name), []byte(strings.Repeat(outbound, size)), 0o600))
			}
			fx.start()
			const turns = 9
			for i := range turns {
				fx.net.UserWrites(strconv.Itoa(i), "u", strconv.Itoa(i))
			}
			for i := range turns {
				calls, ok := fx.net.Await(strconv.Itoa(i), testTimeout, func(c []gatewaytest.Call) bool {
					return len(c) > 0 && (strings.Contains(c[0].Text, "not sent") || len(c) > 1)
				})
				if !ok {
					t.Fatalf("turn %d: got %q, logged %v %v", i, texts(calls), fx.logs.FilterField(zap.String("chat", "net:"+strconv.Itoa(i))).All(), fx.logs.FilterLevelExact(zap.WarnLevel).All())
				}
				for _, c := range calls {
					for _, content := range c.Files {
						if o, n := strings.Count(content, "o"), strings.Count(content, "n"); max(o, n) != size || min(o, n) != 0 {
							t.Errorf("turn %d: the picture has %d old and %d new bytes", i, o, n)
						}
					}
				}
			}
		})
	}
}
