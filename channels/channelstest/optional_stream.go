package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"nanobot/channels"
)

// openStreams connects n operators.
func (fx fixture) openStreams(n int) []OperatorStream {
	var all []OperatorStream
	for range n {
		all = append(all, fx.OpenStream())
	}
	return all
}

// waitForEnd waits for the end of the stream and reports whether it has ended.
func (s OperatorStream) waitForEnd() bool {
	_, open := s.Next("an event that never comes")
	return !open
}

func streamerOf(fx fixture) (channels.Streamer, error) {
	return optionalInterface[channels.Streamer](fx, "OpenStream")
}

func closeStreamsEndsAll(_ context.Context, fx fixture) error {
	streamer, err := streamerOf(fx)
	if err != nil {
		return err
	}
	streamer.CloseStreams() // without a connected operator
	all := fx.openStreams(3)
	if !returnsInTime(streamer.CloseStreams) {
		return errors.New("CloseStreams does not return")
	}
	for i, s := range all {
		if !returnsInTime(func() { _ = s.waitForEnd() }) {
			return fmt.Errorf("stream %d of %d does not end", i+1, len(all))
		}
	}
	return nil
}

func streamsMayReconnect(_ context.Context, fx fixture) error {
	streamer, err := streamerOf(fx)
	if err != nil {
		return err
	}
	fx.OpenStream()
	streamer.CloseStreams()
	again := fx.OpenStream()
	defer again.Close()
	publisher, ok := fx.Channel.(channels.Publisher)
	if !ok {
		return nil
	}
	publisher.Publish("probe", map[string]any{"n": "1"})
	if _, open := again.Next("probe"); !open {
		return errors.New("a stream that began after CloseStreams is closed")
	}
	return nil
}

func publisherOf(fx fixture) (channels.Publisher, error) {
	return optionalInterface[channels.Publisher](fx, "OpenStream")
}

func watchedReportsOperators(_ context.Context, fx fixture) error {
	publisher, err := publisherOf(fx)
	if err != nil {
		return err
	}
	if publisher.Watched() {
		return errors.New("no operator is connected, and Watched is true")
	}
	for range 2 {
		all := fx.openStreams(2)
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

func eventsArriveInOrder(_ context.Context, fx fixture) error {
	publisher, err := publisherOf(fx)
	if err != nil {
		return err
	}
	all := fx.openStreams(2)
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
			return fmt.Errorf("of the events %q an operator received %q", want, got)
		}
	}
	return nil
}

func eventsAreNotStored(_ context.Context, fx fixture) error {
	publisher, err := publisherOf(fx)
	if err != nil {
		return err
	}
	before := len(fx.Sent())
	publisher.Publish("probe", map[string]any{"n": "early"})
	s := fx.OpenStream()
	defer s.Close()
	publisher.Publish("probe", map[string]any{"n": "late"})
	if data, _ := s.Next("probe"); data["n"] != "late" {
		return fmt.Errorf("an operator who connected later received %v", data)
	}
	if sent := fx.Sent(); len(sent) > before {
		return fmt.Errorf("Publish sends %+v", sent[before:])
	}
	return nil
}

func publishDoesNotWait(_ context.Context, fx fixture) error {
	publisher, err := publisherOf(fx)
	if err != nil {
		return err
	}
	s := fx.OpenStream() // a stream that nobody reads
	defer s.Close()
	if !returnsInTime(func() {
		for range 5000 {
			publisher.Publish("probe", map[string]any{"n": "1"})
		}
	}) {
		return errors.New("Publish waits for an operator who does not read")
	}
	return nil
}
