package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"nanobot/channels"
)

// streams connects some operators.
func (b bench) streams(n int) []OperatorStream {
	var all []OperatorStream
	for range n {
		all = append(all, b.OpenStream())
	}
	return all
}

// ended reports whether a stream ends.
func (s OperatorStream) ended() bool {
	_, open := s.Next("an event that never comes")
	return !open
}

func streaming(b bench) (channels.Streamer, error) {
	streamer, err := as[channels.Streamer](b)
	if err == nil {
		err = required(b.OpenStream != nil, "OpenStream")
	}
	return streamer, err
}

func hangUpEndsStreams(_ context.Context, b bench) error {
	streamer, err := streaming(b)
	if err != nil {
		return err
	}
	streamer.CloseStreams() // with nobody connected
	all := b.streams(3)
	if !returns(streamer.CloseStreams) {
		return errors.New("CloseStreams does not return")
	}
	for i, s := range all {
		if !returns(func() { _ = s.ended() }) {
			return fmt.Errorf("stream %d of %d does not end", i+1, len(all))
		}
	}
	return nil
}

func streamsMayReturn(_ context.Context, b bench) error {
	streamer, err := streaming(b)
	if err != nil {
		return err
	}
	b.OpenStream()
	streamer.CloseStreams()
	again := b.OpenStream()
	defer again.Close()
	publisher, ok := b.Channel.(channels.Publisher)
	if !ok {
		return nil
	}
	publisher.Publish("probe", map[string]any{"n": "1"})
	if _, open := again.Next("probe"); !open {
		return errors.New("a stream that began after CloseStreams is closed")
	}
	return nil
}

func publishing(b bench) (channels.Publisher, error) {
	publisher, err := as[channels.Publisher](b)
	if err == nil {
		err = required(b.OpenStream != nil, "OpenStream")
	}
	return publisher, err
}

func watchedIsTrue(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	if publisher.Watched() {
		return errors.New("no operator is connected, and Watched is true")
	}
	for range 2 {
		all := b.streams(2)
		all[0].Close()
		if !publisher.Watched() {
			return errors.New("an operator is connected, and Watched is false")
		}
		all[1].Close()
		if !eventually(func() bool { return !publisher.Watched() }) {
			return errors.New("all operators have disconnected, and Watched is true")
		}
	}
	return nil
}

func eventsArriveInOrder(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	all := b.streams(2)
	var want []string
	for i := range 50 {
		want = append(want, strconv.Itoa(i))
		publisher.Publish("probe", map[string]any{"n": want[i]})
	}
	for _, s := range all {
		var got []string
		for range want {
			data, open := s.Next("probe")
			if !open {
				break
			}
			got = append(got, fmt.Sprint(data["n"]))
		}
		s.Close()
		if !slices.Equal(got, want) {
			return fmt.Errorf("of the events %q an operator saw %q", want, got)
		}
	}
	return nil
}

func eventsAreNotStored(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	before := len(b.Sent())
	publisher.Publish("probe", map[string]any{"n": "early"})
	s := b.OpenStream()
	defer s.Close()
	publisher.Publish("probe", map[string]any{"n": "late"})
	if data, _ := s.Next("probe"); data["n"] != "late" {
		return fmt.Errorf("an operator who came later was shown %v", data)
	}
	if sent := b.Sent(); len(sent) > before {
		return fmt.Errorf("Publish sends %+v", sent[before:])
	}
	return nil
}

func publishDoesNotWait(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	s := b.OpenStream() // which nobody reads
	defer s.Close()
	if !returns(func() {
		for range 5000 {
			publisher.Publish("probe", map[string]any{"n": "1"})
		}
	}) {
		return errors.New("Publish waits for an operator who does not read")
	}
	return nil
}
