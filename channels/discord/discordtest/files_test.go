package discordtest_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
)

// download downloads from the CDN.
func (bot *testBot) download(url string) (int, []byte, error) {
	bot.t.Helper()
	resp, err := bot.client.Get(url)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func TestFilesAreUploadedDownloadedAndRemoved(t *testing.T) {
	bot := newTestBot(t)
	path := "/channels/" + bot.channel + "/messages"
	sent := bot.callMultipart("POST", path, object{
		"content": "two", "attachments": []object{{"id": 1, "filename": "b.txt", "description": "second"}, {"id": "0"}},
	}, upload{"files[0]", "a.png", []byte("AAA")}, upload{"files[1]", "x", []byte("BB")})
	m := decodeJSON[discordtest.Message](t, sent.body)
	if len(m.Attachments) != 2 || m.Attachments[0].Filename != "b.txt" || m.Attachments[0].Size != 2 ||
		m.Attachments[0].Description != "second" || m.Attachments[1].ContentType != "image/png" {
		t.Fatalf("attachments: %+v", m.Attachments)
	}
	if status, body, err := bot.download(m.Attachments[1].URL); err != nil || status != 200 || string(body) != "AAA" {
		t.Errorf("%d %q %v", status, body, err)
	}
	if shown := bot.BotMessages(bot.channel)[0].Attachments; string(shown[0].Content) != "BB" {
		t.Errorf("shown: %+v", shown)
	}

	edited := bot.callMultipart("PATCH", path+"/"+m.ID, object{"attachments": []object{{"id": m.Attachments[1].ID}, {"id": 0}}},
		upload{"files[0]", "c.txt", []byte("C")})
	var names []string
	for _, a := range decodeJSON[discordtest.Message](t, edited.body).Attachments {
		names = append(names, a.Filename)
	}
	expectEqual(t, "after the edit", names, []string{"a.png", "c.txt"})
	if plain := bot.callMultipart("POST", path, nil, upload{"files[0]", "only.txt", []byte("x")}); plain.status != 200 {
		t.Errorf("a file alone: %d %s", plain.status, plain.body)
	}
}

func TestTooLargeAndTooManyFilesAreRefused(t *testing.T) {
	bot := newTestBot(t)
	path := "/channels/" + bot.channel + "/messages"
	bot.SetUploadLimit(bot.guild, 4)
	bot.expectError(bot.callMultipart("POST", path, nil, upload{"files[0]", "a", []byte("12345")}), 413, 40005)
	fits := func(i int) upload { return upload{fmt.Sprintf("files[%d]", i), "a", []byte("1234")} }
	if got := bot.callMultipart("POST", path, nil, generate(10, fits)...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	bot.expectError(bot.callMultipart("POST", path, nil, generate(11, fits)...), 400, 50035)
	bot.expectViolation("attachments")
	unnamed := object{"attachments": []object{{"id": 0}}}
	bot.expectError(bot.callMultipart("POST", path, unnamed, fits(0), fits(1)), 400, 50035)
	bot.expectViolation("does not name")
	dm := "/channels/" + bot.DM(bot.user).ID + "/messages"
	if got := bot.callMultipart("POST", dm, nil, upload{"files[0]", "a", bytes.Repeat([]byte("x"), 10<<20)}); got.status != 200 {
		t.Errorf("10 MiB in a DM: %d %s", got.status, got.body)
	}
	bot.expectError(bot.callMultipart("POST", dm, nil, upload{"files[0]", "a", bytes.Repeat([]byte("x"), 10<<20+1)}), 413, 40005)
}

func TestAddressesOfFilesExpireAndAreRenewed(t *testing.T) {
	bot := newTestBot(t)
	said := bot.UserSends(bot.channel, bot.user, "see", discordtest.File{Name: "big file.bin", Content: []byte("ab"), Size: 100_000})
	newURL := func() string {
		body := bot.mustCall("GET", "/channels/"+bot.channel+"/messages/"+said.ID, nil).body
		return decodeJSON[discordtest.Message](t, body).Attachments[0].URL
	}
	old := newURL()
	if status, body, err := bot.download(old); status != 200 || err != nil || len(body) != 100_000 || string(body[:3]) != "ab\x00" {
		t.Errorf("%d, %d bytes, %v", status, len(body), err)
	}
	bot.AdvanceClock(25 * time.Hour)
	if status, _, _ := bot.download(old); status != 404 {
		t.Errorf("the old address: %d", status)
	}
	if status, _, _ := bot.download(newURL() + "0"); status != 404 {
		t.Errorf("a forged address: %d", status)
	}
	if status, _, _ := bot.download(newURL()); status != 200 {
		t.Errorf("the new address: %d", status)
	}
	bot.FailNext(discordtest.CDN, discordtest.Fault{CutAfter: true}, discordtest.ErrorResponse(503, 0, ""))
	if _, body, err := bot.download(newURL()); err == nil {
		t.Errorf("the download was not cut: %d bytes", len(body))
	}
	if status, _, _ := bot.download(newURL()); status != 503 {
		t.Errorf("status %d", status)
	}
}
