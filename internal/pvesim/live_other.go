package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// The write side beside the guests. Most of what Proxmox keeps in its cluster
// file system is changed in the same few steps, which stand here: quorum,
// digest, keys to delete, keys to set.

// quorum is the error of a write to a file of the cluster file system while
// the cluster has none. file is the name in the lock, such as user_cfg.
func (c *call) quorum(file string) error {
	if c.world.Quorate {
		return nil
	}
	return fail("error during cfs-locked 'file-%s' operation: no quorum!", file)
}

// sameDigest refuses a change of something that is no longer as it was read.
func (c *call) sameDigest(now string) error {
	if d := c.param("digest"); d != "" && d != now {
		return fail("detected modified configuration - file changed by other user? Try again.")
	}
	return nil
}

// own tells whether a parameter is about the call and not one of the object
// that is changed.
func (c *call) own(name string) bool {
	if _, inPath := c.path[name]; inPath {
		return true
	}
	switch name {
	case "delete", "digest", "append", "lock-token":
		return true
	}
	return false
}

// store takes the call's parameters into a configuration: first what delete
// names goes, then what is given is set. Keys in but stay as they are.
func (c *call) store(into *Config, but ...string) error {
	for _, key := range c.list("delete") {
		if c.has(key) {
			return refuse("delete", "unable to set and delete property '"+key+"' at the same time!")
		}
		into.Delete(key)
	}
	for _, name := range sortedKeys(c.params) {
		if c.own(name) || slices.Contains(but, name) {
			continue
		}
		into.Set(name, c.text(name))
	}
	return nil
}

// text gives a parameter as Proxmox writes it into a file: several values
// joined, booleans as 1 and 0.
func (c *call) text(name string) string {
	v := strings.Join(c.params[name], ",")
	if p, ok := c.method.Property(name); ok && p.Type == apidoc.Boolean {
		return map[bool]string{true: "1", false: "0"}[c.flag(name, false)]
	}
	return v
}

// prefixed is the error of a change that Proxmox makes under a lock with a
// text of its own in front.
func prefixed(prefix string, err error) error {
	if e, ok := err.(*apiError); ok && e.Status == 500 { //nolint:errorlint // handlers give their errors bare
		return fail("%s: %s", prefix, e.Error())
	}
	return err
}
