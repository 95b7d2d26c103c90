package pfcp

// Optional is an IE that may be absent. Value means nothing unless Present.
type Optional[T any] struct {
	Value   T
	Present bool
}

// Some returns a value that is present.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }
