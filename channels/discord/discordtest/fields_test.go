package discordtest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

// openAPIFields returns the names that a route or an object accepts, from testdata/fields.txt.
func openAPIFields(t *testing.T) map[string][]string {
	t.Helper()
	raw := musttest.Get(os.ReadFile("testdata/fields.txt"))(t)
	out := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		if subject, names, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			out[subject] = strings.Fields(names)
		}
	}
	return out
}

// loose has names that are accepted in addition: fields of discordgo that Discord ignores, and,
// because all components share one type here, fields of other components.
var loose = map[string][]string{
	discordtest.EditMessage:            {"ID", "Channel"},
	discordtest.StartThreadFromMessage: {"invitable"},
	"attachment":                       {"url", "flags"},
	"button":                           {"components", "options", "placeholder", "min_values", "max_values", "required", "channel_types"},
	"select":                           {"components", "style", "label", "url", "sku_id", "emoji", "channel_types"},
	"row": {
		"custom_id", "style", "label", "disabled", "url", "sku_id", "emoji",
		"placeholder", "min_values", "max_values", "required", "options", "channel_types",
	},
}

func TestAcceptedNamesAreThoseOfDiscord(t *testing.T) {
	bot := newTestBot(t)
	bot.mustCall("PUT", "/applications/"+bot.ApplicationID+"/commands", []object{{"name": "do", "description": "it"}})
	message := bot.sendMessage(object{"content": "x"}).ID
	path := func(template string) string {
		made, err := bot.UserRunsCommand(bot.channel, bot.user, "do", nil) // a new one each time: it can be answered for 3 seconds
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer("{channel_id}", bot.channel, "{message_id}", message, "{application_id}", bot.ApplicationID, "{guild_id}", bot.guild,
			"{interaction_id}", made.ID, "{interaction_token}", made.Token,
			"{webhook_id}", bot.ApplicationID, "{webhook_token}", made.Token).Replace(template)
	}
	list := func(o any) []any { return []any{o} }
	row := func(c any) object { return object{"components": list(object{"type": 1, "components": list(c)})} }
	inside := map[string]func(o object) (route string, body any){
		"data":  func(o object) (string, any) { return discordtest.Callback, object{"data": o} },
		"embed": func(o object) (string, any) { return discordtest.CreateMessage, object{"embeds": list(o)} },
		"embed field": func(o object) (string, any) {
			return discordtest.CreateMessage, object{"embeds": list(object{"fields": list(o)})}
		},
		"allowed_mentions":  func(o object) (string, any) { return discordtest.CreateMessage, object{"allowed_mentions": o} },
		"message_reference": func(o object) (string, any) { return discordtest.CreateMessage, object{"message_reference": o} },
		"attachment":        func(o object) (string, any) { return discordtest.CreateMessage, object{"attachments": list(o)} },
		"row":               func(o object) (string, any) { return discordtest.CreateMessage, object{"components": list(o)} },
		"button":            func(o object) (string, any) { return discordtest.CreateMessage, row(o) },
		"select":            func(o object) (string, any) { return discordtest.CreateMessage, row(o) },
		"select option": func(o object) (string, any) {
			return discordtest.CreateMessage, row(object{"type": 3, "options": list(o)})
		},
		"command": func(o object) (string, any) { return discordtest.PutGuildCommands, list(o) },
		"command option": func(o object) (string, any) {
			return discordtest.PutGuildCommands, list(object{"name": "x", "options": list(o)})
		},
		"choice": func(o object) (string, any) {
			return discordtest.PutGuildCommands, list(object{"name": "x", "options": list(object{"choices": list(o)})})
		},
	}
	known := openAPIFields(t)
	every := []string{"foo"}
	for _, names := range known {
		every = append(every, names...)
	}
	slices.Sort(every)
	for subject, names := range known {
		for _, name := range slices.Compact(every) {
			route, body := subject, any(object{name: nil})
			if wrap := inside[subject]; wrap != nil {
				route, body = wrap(object{name: nil})
			}
			verb, template, _ := strings.Cut(route, " ")
			bot.callJSON(verb, path(template), body)
			flagged := slices.ContainsFunc(bot.TakeViolations(), func(v string) bool {
				return strings.Contains(v, `unknown field "`+name+`"`)
			})
			if right := slices.Contains(names, name); right == flagged && !slices.Contains(loose[subject], name) {
				t.Errorf("%s: %q is one of Discord's: %v; it is flagged: %v", subject, name, right, flagged)
			}
		}
	}
}
