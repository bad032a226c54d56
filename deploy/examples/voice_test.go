package examples_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// speech returns a function that makes a voice note of words.
func speech(words string) func(t *testing.T, workspace string) {
	return func(t *testing.T, workspace string) {
		t.Helper()
		out, err := exec.Command("sh", "-c", `espeak-ng --stdout "$1" | opusenc --quiet - "$2"/note.ogg`, "sh", words, workspace).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// pdf returns a document of one page with a line of text.
func pdf(text string) string {
	content := fmt.Sprintf("BT /F1 24 Tf 72 700 Td (%s) Tj ET", text)
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}
	var b, table strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj%s endobj\n", i+1, o)
	}
	fmt.Fprintf(&b, "xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table.String(), b.Len())
	return b.String()
}

// transcribes starts a transcription service, which answers with the words of its URL's query.
func transcribes(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, header, err := r.FormFile("file")
		if err != nil || r.Header.Get("Authorization") != "Bearer key" || r.FormValue("response_format") != "text" {
			http.Error(w, fmt.Sprint("wrong request: ", err), http.StatusBadRequest)
			return
		}
		head := make([]byte, 4)
		if _, err := io.ReadFull(file, head); err != nil || string(head) != "OggS" || header.Filename != "audio.ogg" {
			http.Error(w, "no Ogg file", http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, r.URL.Query().Get("say"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheVoiceExampleHearsAndSpeaks(t *testing.T) {
	t.Parallel()
	skipWithout(t, "espeak-ng", "opusenc", "curl")
	dir := copyFolder(t, "voice")
	config := filepath.Join(dir, "config.json")
	text := string(musttest.Get(os.ReadFile(config))(t))
	service := transcribes(t) + "/v1/audio/transcriptions?say=buy+milk"
	text = strings.Replace(text, `"stdin"`, fmt.Sprintf(`"env": {"HEAR_URL": %q, "HEAR_KEY": "key"}, "stdin"`, service), 1)
	musttest.Do(t, os.WriteFile(config, []byte(text), 0o600))
	runStep(t, dir, step{
		media: []string{"note.ogg"}, before: speech("buy milk"),
		want: []line{message("> buy milk"), message("You said: buy milk"), message("", "answer*.ogg")},
	})
}

func TestTheVoiceExampleUsesWhisper(t *testing.T) {
	t.Parallel()
	skipWithout(t, "espeak-ng", "opusenc")
	dir := copyFolder(t, "voice")
	// These stand for programs that no package has: they check their arguments.
	bin := filepath.Join(dir, "bin")
	musttest.Do(t, os.Mkdir(bin, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "ffmpeg"), []byte("#!/bin/sh\n[ \"$5 $6\" = \"-i $PWD/note.ogg\" ] && for last; do :; done && echo heard >\"$last\"\n"), 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "whisper-cli"), []byte("#!/bin/sh\n[ \"$2\" = ggml-base.bin ] && for last; do :; done && cat \"$last\"\n"), 0o755))
	config := filepath.Join(dir, "config.json")
	text := string(musttest.Get(os.ReadFile(config))(t))
	text = strings.Replace(text, `"stdin"`, fmt.Sprintf(`"env": {"PATH": %q}, "stdin"`, bin+":"+os.Getenv("PATH")), 1)
	musttest.Do(t, os.WriteFile(config, []byte(text), 0o600))
	runStep(t, dir, step{
		media: []string{"note.ogg"}, before: speech("x"),
		want: []line{message("> heard"), message("You said: heard"), message("", "answer*.ogg")},
	})
}

func TestTheVoiceExampleReadsDocumentsAndPictures(t *testing.T) {
	t.Parallel()
	skipWithout(t, "pdftotext")
	dir := copyFolder(t, "voice")
	runStep(t, dir, step{
		media: []string{"letter.pdf"}, before: withFile("letter.pdf", pdf("Dear bot")), want: []line{message("> Dear bot"), message("You said: Dear bot")},
	})
	skipWithout(t, "tesseract", "pdftoppm")
	picture := func(t *testing.T, workspace string) {
		t.Helper()
		out, err := exec.Command("pdftoppm", "-png", "-singlefile", filepath.Join(workspace, "letter.pdf"), filepath.Join(workspace, "scan")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	runStep(t, dir, step{media: []string{"scan.png"}, before: picture, want: []line{message("> Dear bot"), message("You said: Dear bot")}})
}
