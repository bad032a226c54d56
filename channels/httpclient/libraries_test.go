package httpclient_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The libraries of the networks are go-telegram/bot and discordgo. Their package variables, such as
// the addresses of discordgo, are shared by all bots of a process. Their errors do not say whether
// a request was sent, so that no decision may be made by one.
var (
	assignment = regexp.MustCompile(`^\s*([\w.]+, )*(bot|discordgo)\.[A-Z]\w*(\.\w+|\[[^]]*\])*( [-+|&]?= |, [^()]* = |\+\+|--)`)
	decision   = regexp.MustCompile(`\b(bot\.(Error[A-Z]|Is[A-Z]|TooManyRequestsError|MigrateError)|discordgo\.(Err[A-Z]|RESTError|RateLimitError))`)
)

func TestTheLibrariesAreNeitherChangedNorDecideAnything(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if assignment.MatchString(code) {
				t.Errorf("%s:%d changes a variable of a library: %s", path, i+1, line)
			}
			if decision.MatchString(code) {
				t.Errorf("%s:%d uses an error of a library: %s", path, i+1, line)
			}
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Errorf("%d files were read, %v", files, err)
	}
}

func TestChangesAndDecisionsAreFound(t *testing.T) {
	for code, want := range map[string][2]bool{
		`discordgo.EndpointAPI = base`:                          {true, false},
		`discordgo.EndpointAPI, other = base, 1`:                {true, false},
		`discordgo.Logger.Level += 1`:                           {true, false},
		`other, bot.Default = 1, 2`:                             {true, false},
		`var _ bot.HttpClient = (*transport)(nil)`:              {false, false},
		`	bot.Default++`:                                        {true, false},
		`errors.Is(err, bot.ErrorForbidden)`:                    {false, true},
		`var e *bot.TooManyRequestsError`:                       {false, true},
		`if bot.IsMigrateError(err) {`:                          {false, true},
		`if e, ok := err.(*discordgo.RESTError); ok {`:          {false, true},
		`err == discordgo.ErrUnauthorized`:                      {false, true},
		`bot.WithErrorsHandler(func(error) {}), bot.New(token)`: {false, false},
		`if t == discordgo.ChannelTypeDM {`:                     {false, false},
		`const all = discordgo.IntentGuilds | discordgo.B`:      {false, false},
		`Type: discordgo.ChannelTypeDM, Name: x`:                {false, false},
	} {
		if got := [2]bool{assignment.MatchString(code), decision.MatchString(code)}; got != want {
			t.Errorf("%s: changes and decides: %v", code, got)
		}
	}
}
