package config_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
)

// unitWords are what descriptions say about a number that has a unit.
var unitWords = map[string][]string{
	"milliseconds": {"in milliseconds"}, "seconds": {"Seconds ", "in seconds"}, "days": {"Days "},
	"bytes": {"in bytes"}, "MiB": {"in MiB", "MiB of"},
}

func TestEveryNumberWhoseDescriptionNamesAUnitHasIt(t *testing.T) {
	checked := 0
	check := func(f reflect.StructField) {
		want := ""
		for _, unit := range slices.Sorted(maps.Keys(unitWords)) {
			if slices.ContainsFunc(unitWords[unit], func(words string) bool {
				return strings.Contains(f.Tag.Get("jsonschema_description"), words)
			}) {
				want = unit
			}
		}
		if want != "" {
			checked++
		}
		wanttest.Equal(t, "the unit of "+f.Name, f.Tag.Get("unit"), want)
	}
	sections := []any{config.Warm{}, config.Terminal{}, config.Gateway{}, config.Files{}, config.Audit{}, config.Limits{}}
	for _, ch := range extensions().Channels {
		sections = append(sections, reflect.ValueOf(ch.New()).Elem().Interface())
	}
	for _, p := range extensions().Protocols {
		if p.New != nil {
			sections = append(sections, reflect.ValueOf(p.New()).Elem().Interface())
		}
	}
	for _, s := range sections {
		for i := range reflect.TypeOf(s).NumField() {
			if f := reflect.TypeOf(s).Field(i); f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Int64 {
				check(f)
			}
		}
	}
	wanttest.Equal(t, "numbers with a unit", checked, 21)
}
