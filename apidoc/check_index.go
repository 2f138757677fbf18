package apidoc

import "strings"

// lastIndex holds the highest index of parameters that the schema writes as
// name[n]. Published schemas lose it; these are the counts in qemu-server,
// pve-container, pve-cluster and pve-manager. All begin at 0.
var lastIndex = map[string]int{
	"acmedomain": 5,
	"dev":        255,
	"hostpci":    15,
	"ide":        3,
	"ipconfig":   31,
	"link":       7,
	"mp":         255,
	"net":        31,
	"numa":       7,
	"parallel":   2,
	"sata":       5,
	"scsi":       30,
	"serial":     3,
	"unused":     255,
	"usb":        13,
	"virtio":     15,
	"virtiofs":   9,
}

// IndexBounds gives the first and last index of an indexed parameter such as
// "net" (also written "net[n]"). ok is false for a name that is not known to
// be indexed. The bounds are the same for every method that has the name; verb
// and path are there for the day on which they are not.
func IndexBounds(verb Verb, path, name string) (first, last int, ok bool) {
	last, ok = lastIndex[strings.TrimSuffix(name, "[n]")]
	return 0, last, ok
}

// member gives the property that a key means in a set of properties: the one
// of that name, or the indexed one whose bounds hold its number. "net01",
// "net32" and "net[n]" mean nothing.
func member(properties map[string]*Property, key string) *Property {
	if p := properties[key]; p != nil {
		if strings.HasSuffix(key, "[n]") {
			return nil
		}
		return p
	}
	p, index := indexed(properties, key)
	if p == nil || index < 0 {
		return nil
	}
	return p
}

// indexed gives the indexed property that a key belongs to, and -1 for the
// index if that is out of bounds or badly written.
func indexed(properties map[string]*Property, key string) (*Property, int) {
	i := len(key)
	for i > 0 && '0' <= key[i-1] && key[i-1] <= '9' {
		i--
	}
	if i == 0 || i == len(key) || i > 60 {
		return nil, 0
	}
	var room [64]byte
	name := append(append(room[:0], key[:i]...), "[n]"...)
	p := properties[string(name)]
	if p == nil {
		return nil, 0
	}
	number := key[i:]
	if number[0] == '0' && len(number) > 1 || len(number) > 6 {
		return p, -1
	}
	index := 0
	for _, d := range []byte(number) {
		index = index*10 + int(d-'0')
	}
	if last, known := lastIndex[key[:i]]; known && index > last {
		return p, -1
	}
	return p, index
}

// Property gives the schema of a parameter by the name under which it is sent:
// "net0" finds net[n] if the index is in bounds. In a method with variants,
// the first that has the name counts.
func (m *Method) Property(name string) (*Property, bool) {
	p := findProperty(m.Parameters, name, nil)
	return p, p != nil
}
