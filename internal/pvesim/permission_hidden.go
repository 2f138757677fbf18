package pvesim

// hidden enforces what a call needs beyond what the schema declares.
func (c *call) hidden() error { return nil }
