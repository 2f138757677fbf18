package pvesim

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// configValue gives a parameter in the form in which Proxmox writes it into a
// guest's configuration.
func (c *call) configValue(g *Guest, key string) (string, error) {
	v := strings.Join(c.params[key], ",")
	if p, ok := c.method.Property(key); ok && p.Type == apidoc.Boolean {
		return strconv.Itoa(number01(c.flag(key, false))), nil
	}
	switch {
	case key == "tags":
		return c.world.sortTags(v), nil
	case key == "sshkeys":
		return v, checkKeys(v)
	case key == "cipassword":
		return c.hashPassword(g, v), nil
	case indexed(key, "net") && g.Kind == apidoc.QEMU:
		return c.world.vmNet(v), nil
	case indexed(key, "net"):
		return c.world.ctNet(v, g.Config.Get(key)), nil
	case key == "smbios1" && v != "" && !strings.Contains(v, "uuid="):
		return "uuid=" + c.world.newUUID() + "," + v, nil
	case key == "vmgenid" && v == "1":
		return c.world.newUUID(), nil
	}
	return v, nil
}

// sortTags writes tags as the configuration has them: each once, in order, in
// small letters unless the datacenter tells case apart.
func (w *World) sortTags(v string) string {
	tags := strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",; \t\n", r) })
	if subOption(w.Datacenter.Get("tag-style"), "case-sensitive") != "1" {
		for i := range tags {
			tags[i] = strings.ToLower(tags[i])
		}
	}
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ";")
}

// checkKeys refuses what is no list of public keys, one a line.
func checkKeys(v string) error {
	text, err := url.PathUnescape(v)
	if err != nil {
		text = v
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		known := false
		for f := range strings.FieldsSeq(line) {
			known = known || strings.HasPrefix(f, "ssh-") || strings.HasPrefix(f, "ecdsa-") || strings.HasPrefix(f, "sk-")
		}
		if !known || len(strings.Fields(line)) < 2 {
			return fail("SSH public key validation error")
		}
	}
	return nil
}

// hashPassword stores a password as its hash, except for Windows, whose
// cloud-init needs it as it is, and what is a hash already. The hash only looks
// like one of crypt.
func (c *call) hashPassword(g *Guest, v string) string {
	ostype := g.Config.Get("ostype")
	if c.has("ostype") {
		ostype = c.param("ostype")
	}
	if v == "" || strings.HasPrefix(v, "$5$") || strings.HasPrefix(v, "$6$") || strings.HasPrefix(ostype, "w") {
		return v
	}
	salt := base64.RawStdEncoding.EncodeToString([]byte(strconv.FormatUint(c.world.chanceNow(), 36)))[:8]
	sum := sha256.Sum256([]byte(salt + v))
	return "$5$" + salt + "$" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// networkModels are the cards that a VM can have.
var networkModels = []string{"e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "e1000e", "i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3"}

// parts takes a property string apart; what has no "=" is under "".
func parts(v string) map[string]string {
	m := map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		if key, value, found := strings.Cut(part, "="); found {
			m[key] = value
		} else if part != "" {
			m[""] = part
		}
	}
	return m
}

// joined writes a property string: first, then the rest by name.
func joined(first string, m map[string]string) string {
	out := []string{first}
	for _, k := range sortedKeys(m) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, ",")
}

// vmNet completes a VM's network card: a new MAC address where none is given,
// even where the card had one.
func (w *World) vmNet(v string) string {
	m := parts(v)
	model, mac := m["model"], m["macaddr"]
	if model == "" {
		model = m[""]
	}
	for _, name := range networkModels {
		if address, is := m[name]; is {
			model, mac = name, address
			delete(m, name)
		}
	}
	if mac == "" {
		mac = w.newMAC()
	}
	delete(m, "model")
	delete(m, "macaddr")
	delete(m, "")
	return joined(model+"="+strings.ToUpper(mac), m)
}

// ctNet completes a container's.
func (w *World) ctNet(v, old string) string {
	m, before := parts(v), parts(old)
	if m["hwaddr"] == "" {
		m["hwaddr"] = before["hwaddr"]
	}
	if m["hwaddr"] == "" {
		m["hwaddr"] = w.newMAC()
	}
	m["hwaddr"] = strings.ToUpper(m["hwaddr"])
	if m["type"] == "" {
		m["type"] = "veth"
	}
	name := m["name"]
	delete(m, "name")
	return joined("name="+name, m)
}
