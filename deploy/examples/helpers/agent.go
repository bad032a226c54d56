// Command helpers is an agent in Go that uses everything of its helper.
package main

func main() {
	turn := ReadTurn()
	switch turn.Text {
	case "stream":
		turn.Delta("One, ")
		turn.Delta("two.")
	case "ask":
		if answer, ok := turn.Ask("Which one?", "Red", "Blue"); ok {
			turn.Message("You chose " + answer + ".")
		} else {
			turn.Message("Nobody has answered.")
		}
	case "fail":
		turn.Fail("You told me to fail.", "TOLD")
	default:
		turn.Progress("Thinking...")
		turn.Message("You said: "+turn.Text, turn.Files()...)
	}
}
