package pvesim

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
)

// Config is a configuration file of Proxmox: keys with texts, kept in the order
// of their names as Proxmox writes them. Its digest is that of the file.
type Config struct {
	entries []entry
}

type entry struct{ key, value string }

// NewConfig makes a configuration of key, value, key, value…
func NewConfig(pairs ...string) Config {
	// Room for what is set later: most configurations grow by a few keys.
	c := Config{entries: make([]entry, 0, len(pairs)/2+8)}
	for i := 0; i+1 < len(pairs); i += 2 {
		c.Set(pairs[i], pairs[i+1])
	}
	return c
}

func (c *Config) find(key string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, key, func(e entry, k string) int { return strings.Compare(e.key, k) })
}

// Get gives the text of a key, or "".
func (c *Config) Get(key string) string {
	if i, ok := c.find(key); ok {
		return c.entries[i].value
	}
	return ""
}

// Has tells whether the key is set, be it to an empty text.
func (c *Config) Has(key string) bool {
	_, ok := c.find(key)
	return ok
}

// Set gives a key a text.
func (c *Config) Set(key, value string) {
	i, ok := c.find(key)
	if ok {
		c.entries[i].value = value
		return
	}
	c.entries = slices.Insert(c.entries, i, entry{key, value})
}

// Delete takes a key out and tells whether it was there.
func (c *Config) Delete(key string) bool {
	i, ok := c.find(key)
	if ok {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	return ok
}

// Len is the number of keys.
func (c *Config) Len() int { return len(c.entries) }

// Keys lists the keys in order.
func (c *Config) Keys() []string {
	keys := make([]string, len(c.entries))
	for i, e := range c.entries {
		keys[i] = e.key
	}
	return keys
}

// Each calls f for every key in order until f gives false.
func (c *Config) Each(f func(key, value string) bool) {
	for _, e := range c.entries {
		if !f(e.key, e.value) {
			return
		}
	}
}

// Clone gives a copy that shares nothing.
func (c *Config) Clone() Config { return Config{entries: slices.Clone(c.entries)} }

// Text is the file as Proxmox would write it: "key: value" lines.
func (c *Config) Text() string {
	var b strings.Builder
	for _, e := range c.entries {
		b.WriteString(e.key)
		b.WriteString(": ")
		b.WriteString(strings.ReplaceAll(e.value, "\n", "\\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// Digest is the SHA-1 of Text in hex, which changes with every change.
func (c *Config) Digest() string { return digestOf(c.Text()) }

func digestOf(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// subOption gives the value of a key in a property string such as
// "local-lvm:vm-100-disk-0,size=32G".
func subOption(property, key string) string {
	for part := range strings.SplitSeq(property, ",") {
		if k, v, ok := strings.Cut(part, "="); ok && k == key {
			return v
		}
	}
	return ""
}

// firstPart gives what stands before the first comma.
func firstPart(property string) string {
	s, _, _ := strings.Cut(property, ",")
	return s
}
