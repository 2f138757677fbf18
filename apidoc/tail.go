package apidoc

// EndsInTail tells whether the last parameter of a path template takes all
// that is left of a path, slashes included: a volume's name or a network in
// CIDR form. The published schema does not show it.
func EndsInTail(template string) bool { return isTail(template) }
