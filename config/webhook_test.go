package config_test

import "testing"

// URLs to which Telegram itself does not deliver are in testdata/mistakes.
func TestAnotherBotAPIServerMayDeliverToAnyURL(t *testing.T) {
	const local = `"apiBase":"http://127.0.0.1:8081","token":"env:A"`
	for _, section := range []string{
		`{"webhookUrl":"http://127.0.0.1:8080/telegram",` + local + `}`,
		`{"webhookUrl":"http://[::1]:8080",` + local + `}`,
		`{"webhookUrl":"https://bot.example.com:9000/a/b.c/",` + local + `}`,
		`{"webhookUrl":"https://bot.example.com"}`,
		`{"webhookUrl":"https://bot.example.com:88/","apiBase":"https://API.telegram.org/"}`,
		`{"webhookSecret":"file:/anywhere/at.all"}`,
		`{"mode":"webhook"}`, // it is not enabled
	} {
		loadConfig(t, `{"channels":{"telegram":`+section+`}}`)
	}
}
