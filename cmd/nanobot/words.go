package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/internal/words"
)

func newWords(std stdio) *cobra.Command {
	var (
		language string
		asJSON   bool
		all      []string
	)
	for _, l := range words.Languages() {
		all = append(all, string(l))
	}
	cmd := &cobra.Command{
		Use:   "words [flags]",
		Short: "Print the texts that nanobot itself writes to people",
		Long: `Words prints all texts that nanobot itself writes into chats, with their names. In the config, gateway.words
replaces a text by its name. A line break is shown as \n. {name} stands for a value, and {count|one|other} for
one of two words. With --json the output has the form of gateway.words.`,
		Example: `  nanobot words | grep -i queue
  nanobot words --lang de --json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains(all, language) {
				return exit.Usagef("--lang: must be one of %s (got %q)", strings.Join(all, ", "), language)
			}
			texts := map[words.Key]string{}
			for _, key := range words.Keys() {
				texts[key] = words.Template(key, words.Language(language))
				if !asJSON {
					fmt.Fprintf(std.out, "%-24s %s\n", key, strings.ReplaceAll(texts[key], "\n", `\n`))
				}
			}
			if asJSON {
				return format.WriteJSON(std.out, texts)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&language, "lang", string(words.English), "language: "+strings.Join(all, ", "))
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
