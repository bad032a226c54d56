package intake

// ExcerptAround is what a search shows of a text.
var ExcerptAround = excerptAround
