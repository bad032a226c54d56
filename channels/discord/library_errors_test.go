package discord_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
)

// These tests show what the calls of github.com/bwmarrin/discordgo return when something is wrong,
// and so why transport.go and apierror.go exist.

// A send that may have been carried out must not be repeated like one that was never made.
func TestTheErrorsOfTheLibraryDoNotTellWhetherARequestWasSent(t *testing.T) {
	var errs []string
	for _, sent := range []bool{false, true} {
		d := newOfflineSession(t, func(req *http.Request) (*http.Response, error) {
			if sent {
				_, _ = io.Copy(io.Discard, req.Body)
			}
			return nil, io.ErrUnexpectedEOF
		})
		_, err := d.ChannelMessageSend("1", "hello")
		if err == nil {
			t.Fatal("it was sent")
		}
		errs = append(errs, err.Error())
	}
	if errs[0] != errs[1] {
		t.Errorf("the errors are %q", errs)
	}
}

func TestTheErrorsOfTheLibraryContainTheTokenOfAnInteraction(t *testing.T) {
	d := newOfflineSession(t, func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	err := d.InteractionRespond(&discordgo.Interaction{ID: "1", Token: "secret"}, &discordgo.InteractionResponse{})
	if err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheLibraryReturnsAnErrorOfASendThatSucceeded(t *testing.T) {
	d := newOfflineSession(t, func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(strange)), Request: req}, nil
	})
	if m, err := d.ChannelMessageSend("1", "hello"); err == nil {
		t.Errorf("it was sent as %+v", m)
	}
}

func TestTheLibraryPanicsIfTheGatewayIsNull(t *testing.T) {
	d := newOfflineSession(t, func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("null")), Request: req}, nil
	})
	defer func() {
		if recover() == nil {
			t.Error("it does not")
		}
	}()
	_, _ = d.GatewayBot()
}
