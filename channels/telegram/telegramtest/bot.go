package telegramtest

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"nanobot/channels/channelstest/fakenet"
)

func (s *Server) getMe(*Call) (any, error) {
	return struct {
		User
		CanJoinGroups bool `json:"can_join_groups"`
		ReadsAll      bool `json:"can_read_all_group_messages"`
		Inline        bool `json:"supports_inline_queries"`
		Business      bool `json:"can_connect_to_business"`
		WebApp        bool `json:"has_main_web_app"`
	}{User: s.Bot, CanJoinGroups: true, ReadsAll: !s.settings.privacy}, nil
}

func (s *Server) getChat(c *Call) (any, error) {
	to := s.findChat(c.Params["chat_id"])
	switch {
	case to == nil:
		return nil, expectedError("chat not found")
	case to.forbidden != "" && to.Type != "private":
		return nil, &apiError{status: http.StatusForbidden, text: to.forbidden}
	}
	gifts := map[string]bool{
		"unlimited_gifts": true, "limited_gifts": true, "unique_gifts": true, "premium_subscription": true,
		"gifts_from_channels": true,
	}
	return struct {
		Chat
		Accent    int             `json:"accent_color_id"`
		Reactions int             `json:"max_reaction_count"`
		Gifts     map[string]bool `json:"accepted_gift_types"`
	}{to.Chat, 1, 11, gifts}, nil
}

// answerCallbackQuery answers a press of a button. Telegram forgets a query after some minutes;
// this server never does.
func (s *Server) answerCallbackQuery(c *Call) (any, error) {
	a := s.answers[c.Params["callback_query_id"]]
	if a == nil {
		return nil, expectedError("query is too old and response timeout expired or query ID is invalid")
	}
	if utf16Len(c.Params["text"]) > 200 {
		return nil, violationError("MESSAGE_TOO_LONG")
	}
	a.Text, a.Alert = c.Params["text"], c.flag("show_alert")
	a.Times++
	return true, nil
}

var commandPattern = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

func (s *Server) setMyCommands(c *Call) (any, error) {
	var all []Command
	if err := decodeStrict("BotCommand", c.Params["commands"], &all); err != nil {
		return nil, err
	}
	if len(all) > 100 {
		return nil, violationError("BOT_COMMANDS_TOO_MUCH")
	}
	for _, one := range all {
		if !commandPattern.MatchString(strings.TrimPrefix(one.Command, "/")) {
			return nil, violationError("BOT_COMMAND_INVALID: %q", one.Command)
		}
		if n := utf16Len(one.Description); n < 1 || n > 256 {
			return nil, violationError("BOT_COMMAND_DESCRIPTION_INVALID: %q", one.Command)
		}
	}
	key, err := menuKey(c)
	if err == nil {
		s.menus[key] = all
	}
	return err == nil, err
}

func (s *Server) getMyCommands(c *Call) (any, error) {
	key, err := menuKey(c)
	return append([]Command{}, s.menus[key]...), err
}

func (s *Server) deleteMyCommands(c *Call) (any, error) {
	key, err := menuKey(c)
	delete(s.menus, key)
	return err == nil, err
}

// menuKey returns the key of a menu: the type of its scope, its chat and user, and the language.
func menuKey(c *Call) (string, error) {
	scope := struct {
		Type   string `json:"type"`
		ChatID int64  `json:"chat_id"`
		UserID int64  `json:"user_id"`
	}{Type: "default"}
	if c.has("scope") {
		if err := decodeStrict("BotCommandScope", c.Params["scope"], &scope); err != nil {
			return "", err
		}
	}
	key := scope.Type
	for _, id := range []int64{scope.ChatID, scope.UserID} {
		if id != 0 {
			key += ":" + itoa(id)
		}
	}
	return key + "/" + c.Params["language_code"], nil
}

func (s *Server) getFile(c *Call) (any, error) {
	f := s.files[c.Params["file_id"]]
	if f == nil {
		return nil, expectedError("invalid file_id")
	}
	if f.Size > s.settings.limits.Download {
		return nil, expectedError("file is too big")
	}
	i := f.fileInfo()
	return map[string]any{
		"file_id": i.FileID, "file_unique_id": i.FileUniqueID, "file_size": i.FileSize, "file_path": f.Path,
	}, nil
}

// download serves the content of a file. A local server serves none, because its files are on the
// disk.
func (s *Server) download(w http.ResponseWriter, r *http.Request, path string) {
	c := &Call{Method: Download, Params: map[string]string{"path": path}}
	var rest []byte
	s.ServeCall(w, r, c, fakenet.Response{
		CarryOut: func() (any, error) {
			s.Lock()
			defer s.Unlock()
			f := s.filesByPath[path]
			if f == nil || s.settings.localDir != "" {
				return nil, notFound
			}
			return f.Content, nil
		},
		Begin: func(result any, err error) int {
			if err == nil {
				content := result.([]byte)
				w.Header().Set("Content-Type", "application/octet-stream")
				w.Header().Set("Content-Length", strconv.Itoa(len(content)))
				_, _ = w.Write(content[:len(content)/2])
				_ = http.NewResponseController(w).Flush()
				rest = content[len(content)/2:]
			}
			return s.recordOutcome(c, err)
		},
		Write: func(_ int, _ any, err error) {
			if err != nil {
				writeAnswer(w, nil, err)
				return
			}
			_, _ = w.Write(rest)
		},
	})
}
