package straight

// Plain is how a file is opened where the kernel cannot look at the whole path.
var Plain = plain
