package discordtest_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
)

// get downloads from the CDN.
func (r *rig) get(url string) (int, []byte, error) {
	r.t.Helper()
	resp, err := r.client.Get(url)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func TestFilesComeAndGo(t *testing.T) {
	r := newRig(t)
	path := "/channels/" + r.channel + "/messages"
	sent := r.form("POST", path, object{
		"content": "two", "attachments": []object{{"id": 1, "filename": "b.txt", "description": "second"}, {"id": "0"}},
	}, upload{"files[0]", "a.png", []byte("AAA")}, upload{"files[1]", "x", []byte("BB")})
	m := into[discordtest.Message](t, sent.body)
	if len(m.Attachments) != 2 || m.Attachments[0].Filename != "b.txt" || m.Attachments[0].Size != 2 ||
		m.Attachments[0].Description != "second" || m.Attachments[1].ContentType != "image/png" {
		t.Fatalf("attachments: %+v", m.Attachments)
	}
	if status, body, err := r.get(m.Attachments[1].URL); err != nil || status != 200 || string(body) != "AAA" {
		t.Errorf("%d %q %v", status, body, err)
	}
	if shown := r.BotMessages(r.channel)[0].Attachments; string(shown[0].Content) != "BB" {
		t.Errorf("shown: %+v", shown)
	}

	edited := r.form("PATCH", path+"/"+m.ID, object{"attachments": []object{{"id": m.Attachments[1].ID}, {"id": 0}}},
		upload{"files[0]", "c.txt", []byte("C")})
	var names []string
	for _, a := range into[discordtest.Message](t, edited.body).Attachments {
		names = append(names, a.Filename)
	}
	same(t, "after the edit", names, []string{"a.png", "c.txt"})
	if plain := r.form("POST", path, nil, upload{"files[0]", "only.txt", []byte("x")}); plain.status != 200 {
		t.Errorf("a file alone: %d %s", plain.status, plain.body)
	}
}

func TestFilesThatAreTooBigOrTooMany(t *testing.T) {
	r := newRig(t)
	path := "/channels/" + r.channel + "/messages"
	r.SetUploadLimit(r.guild, 4)
	r.refused(r.form("POST", path, nil, upload{"files[0]", "a", []byte("12345")}), 413, 40005)
	fits := func(i int) upload { return upload{fmt.Sprintf("files[%d]", i), "a", []byte("1234")} }
	if got := r.form("POST", path, nil, many(10, fits)...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	r.refused(r.form("POST", path, nil, many(11, fits)...), 400, 50035)
	r.violated("attachments")
	unnamed := object{"attachments": []object{{"id": 0}}}
	r.refused(r.form("POST", path, unnamed, fits(0), fits(1)), 400, 50035)
	r.violated("does not name")
	dm := "/channels/" + r.DM(r.user).ID + "/messages"
	if got := r.form("POST", dm, nil, upload{"files[0]", "a", bytes.Repeat([]byte("x"), 10<<20)}); got.status != 200 {
		t.Errorf("10 MiB in a DM: %d %s", got.status, got.body)
	}
	r.refused(r.form("POST", dm, nil, upload{"files[0]", "a", bytes.Repeat([]byte("x"), 10<<20+1)}), 413, 40005)
}

func TestAddressesOfFilesExpireAndAreRenewed(t *testing.T) {
	r := newRig(t)
	said := r.UserSends(r.channel, r.user, "see", discordtest.File{Name: "big file.bin", Content: []byte("ab"), Size: 100_000})
	fresh := func() string {
		body := r.must("GET", "/channels/"+r.channel+"/messages/"+said.ID, nil).body
		return into[discordtest.Message](t, body).Attachments[0].URL
	}
	old := fresh()
	if status, body, err := r.get(old); status != 200 || err != nil || len(body) != 100_000 || string(body[:3]) != "ab\x00" {
		t.Errorf("%d, %d bytes, %v", status, len(body), err)
	}
	r.AdvanceClock(25 * time.Hour)
	if status, _, _ := r.get(old); status != 404 {
		t.Errorf("the old address: %d", status)
	}
	if status, _, _ := r.get(fresh() + "0"); status != 404 {
		t.Errorf("a forged address: %d", status)
	}
	if status, _, _ := r.get(fresh()); status != 200 {
		t.Errorf("the new address: %d", status)
	}
	r.FailNext(discordtest.CDN, discordtest.Fault{CutAfter: true}, discordtest.ErrorResponse(503, 0, ""))
	if _, body, err := r.get(fresh()); err == nil {
		t.Errorf("the download was not cut: %d bytes", len(body))
	}
	if status, _, _ := r.get(fresh()); status != 503 {
		t.Errorf("status %d", status)
	}
}
