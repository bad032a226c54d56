package route_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/route"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// naive returns the number of the first rule that a message matches. It lists, for each key, all
// values that would match the message, and looks for a common one.
func naive(rules []config.Route, f route.Facts) int {
	qualified := func(ids ...string) (all []string) {
		for _, id := range ids {
			if id != "" {
				all = append(all, id, f.Chat.Channel+":"+id)
			}
		}
		return all
	}
	kind := "private"
	if f.Group {
		kind = "group"
	}
	origin, name, _ := strings.Cut(string(f.Origin), ":")
	var media, hook, schedule, command []string
	for _, file := range f.Media {
		class, _, _ := strings.Cut(file, "/")
		media = append(media, strings.ToLower(file), strings.ToLower(class)+"/*", "*/*")
	}
	switch origin {
	case "hook":
		hook = []string{name}
	case "schedule":
		schedule = []string{name}
	}
	if f.Command != "" {
		command = []string{strings.ToLower(f.Command)}
	}
	for i, rule := range rules {
		m := rule.Match
		matches := true
		for _, pair := range []struct{ wanted, has []string }{
			{m.Channel, []string{f.Chat.Channel}},
			{m.Chat, qualified(f.Chat.ID, f.Parent)},
			{m.Topic, qualified(f.Topic)},
			{m.User, qualified(f.User)},
			{m.Kind, []string{kind}},
			{m.Command, command},
			{m.Media, media},
			{m.Hook, hook},
			{m.Schedule, schedule},
		} {
			common := false
			for _, a := range pair.wanted {
				for _, b := range pair.has {
					common = common || a == b || strings.ToLower(a) == b || slices.Equal(pair.has, command) && channels.MenuName(a) == b
				}
			}
			matches = matches && (pair.wanted == nil || common)
		}
		if matches {
			return i + 1
		}
	}
	return 0
}

// The messages of the cases.
var (
	private = route.Facts{Chat: channels.Chat{Channel: "telegram", ID: "5"}, User: "5"}
	group   = route.Facts{Chat: channels.Chat{Channel: "telegram", ID: "-1001"}, User: "5", Group: true}
	topic   = route.Facts{
		Chat: channels.Chat{Channel: "telegram", ID: "-1001_77"}, Parent: "-1001", Topic: "77", User: "5", Group: true,
	}
	work   = route.Facts{Chat: channels.Chat{Channel: "telegram.work", ID: "-1001"}, User: "5", Group: true}
	thread = route.Facts{Chat: channels.Chat{Channel: "discord", ID: "900"}, Parent: "800", Topic: "900", User: "6", Group: true}
	page   = route.Facts{Chat: channels.Chat{Channel: "web", ID: "web-1"}, User: "ada"}
)

func asks(f route.Facts, command string, media ...string) route.Facts {
	f.Command, f.Media = command, media
	return f
}

func by(f route.Facts, origin channels.Origin, maker string) route.Facts {
	f.Origin, f.User = origin, maker
	return f
}

func TestTheFirstRuleThatMatchesCounts(t *testing.T) {
	cases := []struct {
		rules string // the matches
		facts route.Facts
		rule  int
		keys  string
	}{
		{`[]`, private, 0, ""},
		{`[{}]`, private, 1, ""},
		{`[{}, {}]`, topic, 1, ""},
		{`[{"channel":"telegram"}]`, private, 1, "channel"},
		{`[{"channel":"telegram"}]`, page, 0, ""},
		{`[{"channel":"telegram"}]`, work, 0, ""},
		{`[{"channel":"telegram.work"}]`, work, 1, "channel"},
		{`[{"channel":"telegram.work"}]`, group, 0, ""},
		{`[{"channel":["web","telegram"]}]`, group, 1, "channel"},
		{`[{"chat":"-1001"}]`, group, 1, "chat"},
		{`[{"chat":"-1001"}]`, topic, 1, "chat"},
		{`[{"chat":"-1001"}]`, work, 1, "chat"},
		{`[{"chat":"telegram:-1001"}]`, group, 1, "chat"},
		{`[{"chat":"telegram:-1001"}]`, topic, 1, "chat"},
		{`[{"chat":"telegram:-1001"}]`, work, 0, ""},
		{`[{"chat":"telegram.work:-1001"}]`, work, 1, "chat"},
		{`[{"chat":"telegram.work:-1001"}]`, group, 0, ""},
		{`[{"chat":"-1001_77"}]`, topic, 1, "chat"},
		{`[{"chat":"-1001_77"}]`, group, 0, ""},
		{`[{"chat":"telegram:-1001_77"}]`, topic, 1, "chat"},
		{`[{"chat":"-1001_78"}]`, topic, 0, ""},
		{`[{"chat":"-100"}]`, topic, 0, ""},
		{`[{"chat":["-5","-1001"]}]`, topic, 1, "chat"},
		{`[{"chat":"800"}]`, thread, 1, "chat"},
		{`[{"chat":"900"}]`, thread, 1, "chat"},
		{`[{"chat":"discord:800"}]`, thread, 1, "chat"},
		{`[{"chat":"web-1"}]`, page, 1, "chat"},
		{`[{"topic":"77"}]`, topic, 1, "topic"},
		{`[{"topic":"77"}]`, group, 0, ""},
		{`[{"topic":"telegram:77"}]`, topic, 1, "topic"},
		{`[{"topic":"discord:77"}]`, topic, 0, ""},
		{`[{"topic":"900"}]`, thread, 1, "topic"},
		{`[{"chat":"-1001","topic":"77"}]`, topic, 1, "chat topic"},
		{`[{"chat":"-1002","topic":"77"}]`, topic, 0, ""},
		{`[{"user":"5"}]`, private, 1, "user"},
		{`[{"user":"5"}]`, topic, 1, "user"},
		{`[{"user":"telegram:5"}]`, work, 0, ""},
		{`[{"user":["1","5"]}]`, work, 1, "user"},
		{`[{"user":"6"}]`, private, 0, ""},
		{`[{"kind":"private"}]`, private, 1, "kind"},
		{`[{"kind":"private"}]`, group, 0, ""},
		{`[{"kind":"group"}]`, topic, 1, "kind"},
		{`[{"kind":["group","private"]}]`, private, 1, "kind"},
		{`[{"command":"faq"}]`, asks(private, "faq"), 1, "command"},
		{`[{"command":"faq"}]`, asks(private, "FAQ"), 1, "command"},
		{`[{"command":"Faq"}]`, asks(private, "faq"), 1, "command"},
		{`[{"command":"faq"}]`, private, 0, ""},
		{`[{"command":"faq"}]`, asks(private, "faqs"), 0, ""},
		{`[{"command":["ask","faq"]}]`, asks(page, "ask"), 1, "command"},
		{`[{"command":"Code-Review"}]`, asks(private, "code-review"), 1, "command"},
		{`[{"command":"Code-Review"}]`, asks(private, "code_review"), 1, "command"}, // its name in Telegram's menu
		{`[{"media":"image/*"}]`, asks(private, "", "image/png"), 1, "media"},
		{`[{"media":"image/*"}]`, asks(private, "", "video/mp4"), 0, ""},
		{`[{"media":"image/*"}]`, asks(private, "", "text/plain", "image/jpeg"), 1, "media"},
		{`[{"media":"image/png"}]`, asks(private, "", "image/jpeg"), 0, ""},
		{`[{"media":"image/PNG"}]`, asks(private, "", "image/png"), 1, "media"},
		{`[{"media":"*/*"}]`, asks(private, "", "application/pdf"), 1, "media"},
		{`[{"media":"*/*"}]`, private, 0, ""},
		{`[{"media":["audio/*","application/pdf"]}]`, asks(thread, "", "application/pdf"), 1, "media"},
		{`[{"hook":"ci"}]`, by(group, channels.ByHook("ci"), ""), 1, "hook"},
		{`[{"hook":"ci"}]`, by(group, channels.ByHook("cd"), ""), 0, ""},
		{`[{"hook":"ci"}]`, by(group, channels.BySchedule("ci"), ""), 0, ""},
		{`[{"schedule":["daily","ci"]}]`, by(group, channels.BySchedule("ci"), ""), 1, "schedule"},
		{`[{"user":"5"}]`, by(group, channels.BySchedule("ci"), "5"), 1, "user"},
		{`[{"user":"5"}]`, by(group, channels.BySchedule("ci"), ""), 0, ""},
		{`[{"chat":"-1001"}]`, by(group, channels.ByAsk, ""), 1, "chat"},
		{`[{"command":"faq"},{"topic":"77"},{"chat":"-1001"},{}]`, asks(topic, "faq"), 1, "command"},
		{`[{"command":"faq"},{"topic":"77"},{"chat":"-1001"},{}]`, topic, 2, "topic"},
		{`[{"command":"faq"},{"topic":"77"},{"chat":"-1001"},{}]`, group, 3, "chat"},
		{`[{"command":"faq"},{"topic":"77"},{"chat":"-1001"},{}]`, page, 4, ""},
		{`[{"channel":"telegram","kind":"group","user":"5","media":"image/*"}]`, asks(topic, "", "image/png"), 1, "channel user kind media"},
	}
	for _, c := range cases {
		t.Run(c.rules+" "+c.facts.Chat.String(), func(t *testing.T) {
			rules := rulesOf(t, c.rules)
			got := route.Find(rules, c.facts)
			wanttest.Equal(t, "rule", got.Rule, c.rule)
			var keys []string
			for _, key := range got.Match.Keys() {
				keys = append(keys, key.Name)
			}
			wanttest.Equal(t, "keys", strings.Join(keys, " "), c.keys)
			wanttest.Equal(t, "rule of the oracle", naive(rules, c.facts), c.rule)
			want := config.DefaultAgent
			if c.rule > 0 {
				want = rules[c.rule-1].Agent
			}
			wanttest.Equal(t, "agent", got.Agent, want)
		})
	}
}

// rulesOf returns a rule for each match of a JSON list. Each has an agent of its own.
func rulesOf(t *testing.T, matches string) (rules []config.Route) {
	t.Helper()
	var all []map[string]any
	musttest.Do(t, json.Unmarshal([]byte(matches), &all))
	for i, match := range all {
		for key, value := range match {
			if one, ok := value.(string); ok {
				match[key] = []string{one}
			}
		}
		rule := config.Route{Agent: fmt.Sprint("agent-", i)}
		musttest.Do(t, json.Unmarshal(musttest.Get(json.Marshal(match))(t), &rule.Match))
		rules = append(rules, rule)
	}
	return rules
}

func TestRandomRulesMatchAsTheNaiveOracleSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	some := func(values ...string) (all config.Values) {
		if random.IntN(3) > 0 {
			return nil
		}
		for range 1 + random.IntN(2) {
			all = append(all, pick(values...))
		}
		return all
	}
	matched := map[int]int{}
	for range 20_000 {
		rules := make([]config.Route, random.IntN(5))
		for i := range rules {
			rules[i] = config.Route{Agent: "a", Match: config.Match{
				Channel: some("telegram", "telegram.work", "web"), Chat: some("1", "1_7", "telegram:1", "web:1", "2"),
				Topic: some("7", "telegram:7", "8"), User: some("5", "telegram:5", "6"), Kind: some("private", "group"),
				Command: some("faq", "FAQ", "ask"), Media: some("*/*", "image/*", "image/png", "text/plain"),
				Hook: some("ci", "cd"), Schedule: some("ci"),
			}}
		}
		f := route.Facts{
			Chat: channels.Chat{Channel: pick("telegram", "telegram.work", "web"), ID: pick("1", "1_7", "2")},
			User: pick("", "5", "6"), Group: random.IntN(2) == 0, Command: pick("", "faq", "Ask"),
			Origin: channels.Origin(pick("", "hook:ci", "hook:cd", "schedule:ci", "ask")),
		}
		if f.Chat.ID == "1_7" {
			f.Parent, f.Topic = "1", "7"
		}
		for range random.IntN(3) {
			f.Media = append(f.Media, pick("image/png", "image/gif", "text/plain"))
		}
		want := naive(rules, f)
		if got := route.Find(rules, f).Rule; got != want {
			t.Fatalf("rule %d, want %d\n%+v\n%+v", got, want, f, rules)
		}
		matched[want]++
		for i := range rules {
			if want == i+1 && slices.ContainsFunc(rules[:i], func(r config.Route) bool { return route.Shadows(r.Match, rules[i].Match, parentOf) }) {
				t.Fatalf("rule %d matches %+v and is said never to: %+v", want, f, rules)
			}
		}
	}
	if matched[0] < 1000 || matched[1] < 1000 || matched[3] < 100 {
		t.Error("the rules match too seldom:", matched)
	}
}

// parentOf returns the chat of a topic.
func parentOf(chat string) string {
	if parent, _, found := strings.Cut(chat, "_"); found {
		return parent
	}
	return ""
}

func TestARuleIsShadowedByAnEarlierOneThatMatchesAllItsMessages(t *testing.T) {
	for _, c := range []struct {
		rules string
		want  bool
	}{
		{`[{}, {"chat":"1"}]`, true},
		{`[{"chat":"1"}, {}]`, false},
		{`[{"chat":"1"}, {"chat":"1"}]`, true},
		{`[{"chat":"1"}, {"chat":["1","2"]}]`, false},
		{`[{"chat":["1","2"]}, {"chat":"2","user":"5"}]`, true},
		{`[{"chat":"1"}, {"chat":"telegram:1"}]`, true},
		{`[{"chat":"1"}, {"chat":"1_7"}]`, true},
		{`[{"chat":"1"}, {"chat":"telegram:1_7"}]`, true},
		{`[{"chat":"telegram:1"}, {"chat":"1_7"}]`, false},
		{`[{"chat":"1_7"}, {"chat":"1"}]`, false},
		{`[{"chat":"telegram:1"}, {"chat":"1"}]`, false},
		{`[{"channel":"telegram"}, {"chat":"telegram:1"}]`, true},
		{`[{"channel":"telegram"}, {"chat":["telegram:1","2"]}]`, false},
		{`[{"channel":"telegram"}, {"user":"telegram:1"}]`, true},
		{`[{"channel":"web"}, {"chat":"telegram:1"}]`, false},
		{`[{"media":"image/*"}, {"media":"image/png"}]`, true},
		{`[{"media":"*/*"}, {"media":"image/*"}]`, true},
		{`[{"media":"image/png"}, {"media":"image/*"}]`, false},
		{`[{"command":"faq"}, {"command":"FAQ","kind":"private"}]`, true},
		{`[{"command":"faq","kind":"group"}, {"command":"faq"}]`, false},
	} {
		rules := rulesOf(t, c.rules)
		if got := route.Shadows(rules[0].Match, rules[1].Match, parentOf); got != c.want {
			t.Errorf("%s: %v", c.rules, got)
		}
	}
}

func TestACommandIsTakenOffTheText(t *testing.T) {
	for text, want := range map[string][2]string{
		"/faq how?": {"faq", "how?"}, "/faq@my_bot how?": {"faq", "how?"}, " /FAQ\nhow?\n": {"FAQ", "how?\n"}, "/faq": {"faq", ""},
		"how /faq": {"", "how /faq"}, "/": {"", ""}, "": {"", ""}, "/etc/passwd is read": {"etc/passwd", "is read"},
	} {
		word, rest := route.ParseCommand(text)
		wanttest.Equal(t, text, [2]string{word, rest}, want)
	}
}
