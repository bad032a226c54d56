package display

import (
	"fmt"
	"time"
)

// Duration returns a duration as people read it: "41 s", "3 min", "2 h 5 min". It is rounded
// down, so that it never claims more than has passed.
func Duration(d time.Duration) string {
	minutes := int(d / time.Minute)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(int(d/time.Second), 0))
	case d < time.Hour:
		return fmt.Sprintf("%d min", minutes)
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
