package telegramtest_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func entity(kind string, offset, length int) params {
	return params{"type": kind, "offset": offset, "length": length}
}

func textWithEntities(all ...params) params { return params{"text": "hello 👍 you", "entities": all} }

func button(data string) params {
	return params{"text": "choose", "reply_markup": params{"inline_keyboard": [][]params{{{"text": "ok", "callback_data": data}}}}}
}

func replyTo(to int) params {
	return params{"chat_id": person, "text": "a", "reply_parameters": params{"message_id": to}}
}

func linkTo(to string) params {
	link := entity("text_link", 0, 1)
	link["url"] = to
	return params{"chat_id": person, "text": "a", "entities": []params{link}}
}

func commandsOf(n int) params {
	all := []params{}
	for i := range n {
		all = append(all, params{"command": fmt.Sprintf("c%d", i), "description": "does it"})
	}
	return params{"commands": all}
}

// Mistakes are refused and recorded as violations; values at the limit are allowed.
var rules = map[string]struct {
	method string
	params params
	want   string // "": allowed
}{
	"text of 4096":           {"sendMessage", params{"text": strings.Repeat("a", 4096)}, ""},
	"text of 4097":           {"sendMessage", params{"text": strings.Repeat("a", 4097)}, "message is too long"},
	"2048 surrogate pairs":   {"sendMessage", params{"text": strings.Repeat("👍", 2048)}, ""},
	"2049 surrogate pairs":   {"sendMessage", params{"text": strings.Repeat("👍", 2049)}, "message is too long"},
	"blanks do not count":    {"sendMessage", params{"text": strings.Repeat("a", 4096) + "\n\n "}, ""},
	"no text":                {"sendMessage", params{}, "message text is empty"},
	"blank text":             {"sendMessage", params{"text": " \n\t"}, "message text is empty"},
	"tags do not count":      {"sendMessage", params{"text": "<b>" + strings.Repeat("a", 4096) + "</b>", "parse_mode": "HTML"}, ""},
	"open tag":               {"sendMessage", params{"text": "<b>hello", "parse_mode": "HTML"}, "can't parse entities"},
	"unknown tag":            {"sendMessage", params{"text": "<h1>hello</h1>", "parse_mode": "HTML"}, "can't parse entities"},
	"unknown parse mode":     {"sendMessage", params{"text": "hello", "parse_mode": "BBCode"}, "unsupported parse_mode"},
	"entity to the end":      {"sendMessage", textWithEntities(entity("bold", 0, 12)), ""},
	"entity beyond the end":  {"sendMessage", textWithEntities(entity("bold", 0, 13)), "ends after the end of the text"},
	"entity behind the end":  {"sendMessage", textWithEntities(entity("bold", 12, 1)), "begins after the end of the text"},
	"empty entity":           {"sendMessage", textWithEntities(entity("bold", 0, 0)), "can't parse MessageEntity"},
	"entity of an emoji":     {"sendMessage", textWithEntities(entity("bold", 6, 2)), ""},
	"entity from a half":     {"sendMessage", textWithEntities(entity("bold", 7, 2)), "begins in a middle"},
	"entity to a half":       {"sendMessage", textWithEntities(entity("bold", 5, 2)), "ends in a middle"},
	"entities nested":        {"sendMessage", textWithEntities(entity("bold", 0, 8), entity("italic", 2, 3)), ""},
	"entities side by side":  {"sendMessage", textWithEntities(entity("bold", 0, 3), entity("italic", 3, 3)), ""},
	"entities overlap":       {"sendMessage", textWithEntities(entity("bold", 0, 5), entity("italic", 3, 5)), "ends after the end of the text"},
	"unknown entity":         {"sendMessage", textWithEntities(entity("heading", 0, 5)), "Unsupported type"},
	"entity's unknown field": {"sendMessage", textWithEntities(params{"type": "bold", "offset": 0, "len": 5}), "unknown field"},
	"link without url":       {"sendMessage", textWithEntities(entity("text_link", 0, 5)), `Can't find field "url"`},
	"callback data of 64":    {"sendMessage", button(strings.Repeat("x", 64)), ""},
	"callback data of 65":    {"sendMessage", button(strings.Repeat("x", 65)), "BUTTON_DATA_INVALID"},
	"callback data in bytes": {"sendMessage", button(strings.Repeat("é", 33)), "BUTTON_DATA_INVALID"},
	"button without action":  {"sendMessage", button(""), "Text buttons are unallowed"},
	"reply's unknown field":  {"sendMessage", params{"text": "a", "reply_parameters": params{"id": 1}}, "unknown field"},
	"unknown action":         {"sendChatAction", params{"action": "thinking"}, "wrong parameter action"},
	"known action":           {"sendChatAction", params{"action": "upload_photo"}, ""},
	"100 commands":           {"setMyCommands", commandsOf(100), ""},
	"101 commands":           {"setMyCommands", commandsOf(101), "BOT_COMMANDS_TOO_MUCH"},
	"command in capitals":    {"setMyCommands", params{"commands": []params{{"command": "Stop", "description": "x"}}}, "BOT_COMMAND_INVALID"},
	"command without help":   {"setMyCommands", params{"commands": []params{{"command": "stop", "description": ""}}}, "DESCRIPTION_INVALID"},
	"webhook without TLS":    {"setWebhook", params{"url": "http://example.com/hook"}, "HTTPS"},
	"webhook secret":         {"setWebhook", params{"url": "https://example.com/", "secret_token": "a b"}, "unallowed characters"},
	"album of JSON rubbish":  {"sendMediaGroup", params{"media": "rubbish"}, "can't parse InputMedia"},
	"photo that is missing":  {"sendPhoto", params{}, "there is no photo"},
	"attachment is missing":  {"sendPhoto", params{"photo": "attach://nowhere"}, "there is no part"},
	"callback without id":    {"answerCallbackQuery", params{}, "callback_query_id"},
	"edit without message":   {"editMessageText", params{"text": "a"}, "message identifier is not specified"},
}

func TestMistakesOfABotAreRefusedAndRecordedAsViolations(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			s.AddUser(telegramtest.User{ID: person})
			p := params{}
			for k, v := range rule.params {
				p[k] = v
			}
			if rule.method != "setMyCommands" && rule.method != "setWebhook" && rule.method != "answerCallbackQuery" {
				p["chat_id"] = person
			}
			r := callJSON(t, s, rule.method, p)
			violations := s.TakeViolations()
			if rule.want == "" {
				if !r.OK || len(violations) > 0 {
					t.Fatalf("refused with %q, violations %q", r.Description, violations)
				}
				return
			}
			expectError(t, r, 400, rule.want)
			if len(violations) == 0 {
				t.Error("no violation was kept")
			}
		})
	}
}

func TestErrorsThatACorrectBotMayGetAreNoViolations(t *testing.T) {
	s := telegramtest.New(t)
	said := s.UserSends(person, "hello")
	ours := mustCall(t, s, "sendMessage", params{"chat_id": person, "text": "hi"}).message(t)
	there := s.UserPosts(telegramtest.UserPost{Chat: group, Text: "hello all"})
	s.Block(43)
	s.Kick(super)
	s.AddChat(telegramtest.Chat{ID: -78})
	s.Migrate(-78, -1000000000078)
	big := s.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Size: 20<<20 + 1}})
	for name, c := range map[string]struct {
		method string
		params params
		status int
		want   string
	}{
		"chat not found":   {"sendMessage", params{"chat_id": 1, "text": "a"}, 400, "chat not found"},
		"blocked":          {"sendMessage", params{"chat_id": 43, "text": "a"}, 403, "bot was blocked by the user"},
		"kicked":           {"sendMessage", params{"chat_id": super, "text": "a"}, 403, "bot was kicked from the supergroup chat"},
		"migrated":         {"sendMessage", params{"chat_id": -78, "text": "a"}, 400, "upgraded to a supergroup"},
		"no such thread":   {"sendMessage", params{"chat_id": group, "message_thread_id": 5, "text": "a"}, 400, "message thread not found"},
		"reply to nothing": {"sendMessage", replyTo(999), 400, "message to be replied not found"},
		"relative link":    {"sendMessage", linkTo("./README"), 400, "Wrong HTTP URL"},
		"edit of nothing":  {"editMessageText", params{"chat_id": person, "message_id": 999, "text": "a"}, 400, "message to edit not found"},
		"edit of theirs":   {"editMessageText", params{"chat_id": person, "message_id": said.ID, "text": "a"}, 400, "message can't be edited"},
		"same again":       {"editMessageText", params{"chat_id": person, "message_id": ours.ID, "text": " hi "}, 400, "message is not modified"},
		"same buttons":     {"editMessageReplyMarkup", params{"chat_id": person, "message_id": ours.ID}, 400, "message is not modified"},
		"caption of text":  {"editMessageCaption", params{"chat_id": person, "message_id": ours.ID, "caption": "a"}, 400, "there is no caption"},
		"delete nothing":   {"deleteMessage", params{"chat_id": person, "message_id": 999}, 400, "message to delete not found"},
		"delete theirs":    {"deleteMessage", params{"chat_id": group, "message_id": there.ID}, 400, "message can't be deleted"},
		"old press":        {"answerCallbackQuery", params{"callback_query_id": "1"}, 400, "query is too old"},
		"no such file":     {"getFile", params{"file_id": "x"}, 400, "invalid file_id"},
		"file too big":     {"getFile", params{"file_id": big.Document.FileID}, 400, "file is too big"},
		"unknown file id":  {"sendDocument", params{"chat_id": person, "document": "x"}, 400, "wrong file identifier"},
		"no such chat":     {"getChat", params{"chat_id": 1}, 400, "chat not found"},
	} {
		t.Run(name, func(t *testing.T) {
			r := callJSON(t, s, c.method, c.params)
			expectError(t, r, c.status, c.want)
			if name == "migrated" && r.Parameters.MigrateTo != -1000000000078 {
				t.Errorf("migrate_to_chat_id is %d", r.Parameters.MigrateTo)
			}
		})
	}
}

func TestTokensAndMethodsAreChecked(t *testing.T) {
	s := telegramtest.New(t)
	for token, want := range map[string]int{"1:wrong": 401, "malformed": 404} {
		resp := musttest.Get(client(t).Get(s.URL + "/bot" + token + "/getMe"))(t)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		expectError(t, decodeReply(t, resp.StatusCode, body, err), want, "")
	}
	expectError(t, callJSON(t, s, "sendMesage", params{"chat_id": 1}), 404, "method not found")
	if v := s.TakeViolations(); len(v) != 1 {
		t.Errorf("violations %q", v)
	}
}

func TestAFormIsCheckedLikeJSON(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	expectError(t, callMultipart(t, s, "sendMessage", params{"chat_id": person, "text": "hello"}), 400, "without files")
	s.AcceptAnyMultipart()
	if r := callMultipart(t, s, "sendMessage", params{"chat_id": person, "text": "hello"}); !r.OK {
		t.Errorf("a form without files is refused with %q", r.Description)
	}
	expectError(t, callMultipart(t, s, "sendMessage", params{"chat_id": person, "text": "\xff"}), 400, "must be encoded in UTF-8")
	callMultipart(t, s, "sendMessage", params{"chat_id": person, "text": "hello", "reply_markup": "null"})
	if v := s.TakeViolations(); len(v) != 3 || !strings.Contains(v[2], "reply_markup should be json") {
		t.Errorf("violations %q", v)
	}
}

// recordingTB is a testing.TB that records whether it has failed.
type recordingTB struct {
	testing.TB
	failed  []string
	cleanup []func()
}

func (w *recordingTB) Helper()          {}
func (w *recordingTB) Cleanup(f func()) { w.cleanup = append(w.cleanup, f) }
func (w *recordingTB) Errorf(format string, args ...any) {
	w.failed = append(w.failed, fmt.Sprintf(format, args...))
}

func TestAMisspeltParameterFailsTheTestThatStartedTheServer(t *testing.T) {
	w := &recordingTB{TB: t}
	s := telegramtest.New(w)
	s.AddUser(telegramtest.User{ID: person})
	mustCall(t, s, "sendMessage", params{"chat_id": person, "text": "a", "disable_web_page_preview": true})
	mustCall(t, s, "sendMessage", params{"chat_id": person, "text": "a", "disable_notification": "loud"})
	for _, f := range w.cleanup {
		f()
	}
	if len(w.failed) != 2 || !strings.Contains(w.failed[0], "no parameter disable_web_page_preview") ||
		!strings.Contains(w.failed[1], "disable_notification should be bool") {
		t.Errorf("failed with %q", w.failed)
	}
}
