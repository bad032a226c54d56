package channels

import "fmt"

// HumanSize writes a number of bytes the way people read it, in decimal units: "3 bytes", "1.2 MB".
func HumanSize(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	size := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB"} {
		size /= 1000
		// From 999.95 on, one decimal would read 1000.0.
		if size < 999.95 {
			return fmt.Sprintf("%.1f %s", size, unit)
		}
	}
	return fmt.Sprintf("%.1f EB", size/1000)
}
