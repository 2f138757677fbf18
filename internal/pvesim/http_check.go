package pvesim

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// flatten gives parameters as handlers see them: Perl code has texts, whatever
// JSON said. What has no value is left out.
func flatten(params values) map[string][]string {
	out := make(map[string][]string, len(params)+4)
	for name, v := range params {
		switch x := v.(type) {
		case nil:
		case []string:
			out[name] = x
		case []any:
			list := make([]string, len(x))
			for i, e := range x {
				list[i] = scalar(e)
			}
			out[name] = list
		default:
			out[name] = []string{scalar(v)}
		}
	}
	return out
}

// scalar is a value as Perl prints it.
func scalar(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case bool:
		if x {
			return "1"
		}
		return "0"
	case json.Number:
		return number(x.String())
	case []string, []any:
		return "ARRAY"
	case map[string]any:
		return "HASH"
	}
	return ""
}

// number prints a JSON number without its needless digits: 2.0 is "2", 1e3 is
// "1000".
func number(s string) string {
	if !strings.ContainsAny(s, ".eE") || len(s) > 40 {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	if r := new(big.Float).SetFloat64(f); r.IsInt() && f < 1e15 && f > -1e15 {
		return r.Text('f', 0)
	}
	return strconv.FormatFloat(f, 'g', 15, 64)
}

// checkParams is Proxmox's parameter check, with its texts. What is refused is
// decided by package apidoc; the texts are made here.
func checkParams(m *apidoc.Method, path []apidoc.PathValue, params values) error {
	form := apidoc.Params{}
	typed := false
	for name, v := range params {
		switch x := v.(type) {
		case string:
			form[name] = []string{x}
		case []string:
			form[name] = x
		default:
			typed = true
		}
	}
	var bad *apidoc.CheckError
	if typed {
		body := make(map[string]any, len(params))
		for name, v := range params {
			if list, ok := v.([]string); ok {
				all := make([]any, len(list))
				for i := range list {
					all[i] = list[i]
				}
				v = all
			}
			body[name] = v
		}
		bad = m.CheckJSON(path, body)
	} else {
		bad = m.Check(path, form)
	}
	if bad == nil {
		return nil
	}
	given := map[string]any(params)
	for _, v := range path {
		if _, ok := given[v.Name]; !ok {
			given = cloneWith(given, path)
			break
		}
	}
	out := &apiError{Status: 400, Message: paramsWrong, Errors: map[string]string{}}
	for _, f := range bad.Faults {
		text := faultText(m, f, given)
		if old, ok := out.Errors[f.Param]; ok {
			// Two errors on one parameter are joined by a backslash and an n.
			text = old + `\n` + text
		}
		out.Errors[f.Param] = text
	}
	return out
}

func cloneWith(params map[string]any, path []apidoc.PathValue) map[string]any {
	all := make(map[string]any, len(params)+len(path))
	for k, v := range params {
		all[k] = v
	}
	for _, v := range path {
		all[v.Name] = v.Value
	}
	return all
}

// faultText words a fault as Proxmox does.
func faultText(m *apidoc.Method, f apidoc.Fault, given map[string]any) string {
	p, known := m.Property(f.Param)
	v := given[f.Param]
	if item, index, ok := strings.Cut(f.Param, "["); ok && !known { // vms[0]
		if whole, found := m.Property(item); found && whole.Items != nil {
			p, known = whole.Items, true
			v = itemOf(given[item], strings.TrimSuffix(index, "]"))
		}
	}
	if !known {
		p = &apidoc.Property{}
	}
	switch f.Kind {
	case apidoc.FaultUnknown:
		return "property is not defined in schema and the schema does not allow additional properties"
	case apidoc.FaultMissing:
		return "property is missing and it is not optional"
	case apidoc.FaultRequires:
		return "missing property required by '" + wanting(m, f.Param, given) + "'"
	case apidoc.FaultConflict:
		return "duplicate parameter (already defined in URI) with conflicting values!"
	case apidoc.FaultType:
		return typeText(p, v)
	case apidoc.FaultPattern:
		return "value does not match the regex pattern"
	case apidoc.FaultLength:
		n := len([]rune(scalar(v)))
		if p.MaxLength != nil && n > *p.MaxLength {
			return fmt.Sprintf("value may only be %d characters long", *p.MaxLength)
		}
		if p.MinLength != nil {
			return fmt.Sprintf("value must be at least %d characters long", *p.MinLength)
		}
	case apidoc.FaultRange:
		if p.Minimum != nil && belowMinimum(scalar(v), *p.Minimum) {
			return "value must have a minimum value of " + strconv.FormatFloat(*p.Minimum, 'f', -1, 64)
		}
		if p.Maximum != nil {
			return "value must have a maximum value of " + strconv.FormatFloat(*p.Maximum, 'f', -1, 64)
		}
	case apidoc.FaultEnum:
		return "value '" + scalar(v) + "' does not have a value in the enumeration '" + strings.Join(p.Enum, ", ") + "'"
	case apidoc.FaultFormat:
		return "invalid format - " + formatText(p.Format, scalar(v)) + "\n"
	case apidoc.FaultProperty:
		return "invalid format - " + propertyText(f)
	}
	return f.Reason
}

// propertyText words a fault inside a property string. What the fault says in
// its own words stays where Proxmox's are not known.
func propertyText(f apidoc.Fault) string {
	if key, ok := strings.CutSuffix(f.Reason, " is given twice"); ok {
		return "duplicate key in comma-separated list property: " + strings.Trim(strings.TrimPrefix(key, "key "), `"`) + "\n"
	}
	if strings.Contains(f.Reason, " needs a key; ") {
		return "value without key, but schema does not define a default key\n"
	}
	var b strings.Builder
	b.WriteString("format error\n")
	for _, part := range strings.Split(f.Reason, "; key ") {
		b.WriteString(f.Param + "." + strings.TrimPrefix(part, "key ") + "\n")
	}
	return b.String()
}

func belowMinimum(text string, least float64) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(text, "+")), 64)
	// What is no number in Go but one to Perl's pattern (foreign digits)
	// counts as zero there.
	return err != nil && least > 0 || err == nil && f < least
}

func itemOf(v any, index string) any {
	i, err := strconv.Atoi(index)
	if err != nil {
		return v
	}
	switch x := v.(type) {
	case []string:
		if i < len(x) {
			return x[i]
		}
	case []any:
		if i < len(x) {
			return x[i]
		}
	}
	return v
}

// wanting finds the parameter that was given and requires name.
func wanting(m *apidoc.Method, name string, given map[string]any) string {
	var by []string
	for g := range given {
		if p, ok := m.Property(g); ok && p.Requires == name {
			by = append(by, g)
		}
	}
	if len(by) == 0 {
		return name
	}
	return slices.Min(by)
}

func typeText(p *apidoc.Property, v any) string {
	text := "type check ('" + string(p.Type) + "') failed"
	if p.Type == apidoc.Array || p.Type == apidoc.Object {
		return text
	}
	switch x := v.(type) {
	case []string, []any:
		return text + " - got ARRAY"
	case map[string]any:
		return text + " - got HASH"
	case bool:
		return text + " - got JSON::PP::Boolean"
	case nil:
		return text
	default:
		return text + " - got '" + scalar(x) + "'"
	}
}

// looksLike are the formats whose refusal reads "value does not look like a
// valid …".
var looksLike = map[string]string{
	"pve-vmid": "VM ID", "pve-node": "node name", "dns-name": "DNS name", "pve-realm": "realm",
	"ip": "IP address", "ipv4": "IPv4 address", "ipv6": "IPv6 address", "ipv4mask": "IP netmask",
	"CIDR": "CIDR network", "CIDRv4": "IPv4 CIDR network", "CIDRv6": "IPv6 CIDR network",
	"IPorCIDR": "IP address or CIDR network", "email": "email address", "email-or-username": "email address or user name",
	"address": "server name or IP address", "mac-addr": "MAC address", "pve-storage-portal-dns": "portal address",
	"pve-ha-resource-or-vm-id": "ha resource id", "pve-ha-resource-id": "ha resource id", "pve-ha-node": "ha node",
	"IPorCIDRorAlias": "IP address or CIDR network", "pve-sdn-subnet-id": "CIDR network", "lxc-ip-with-ll-iface": "IP address",
	"pve-storage-server": "server name or IP address", "pve-sdn-bgp-rt": "bgp route-target",
	"pve-fingerprint-sha256": "SHA256 fingerprint", "pve-storage-path": "absolute path", "urlencoded": "urlencoded string",
}

// invalid are those whose refusal is a noun and the value.
var invalid = map[string]string{
	"pve-priv": "invalid privilege", "pve-fw-icmp-type-spec": "invalid icmp-type value", "pve-qm-bootdisk": "invalid boot disk",
	"pve-ct-timezone": "invalid time zone", "pve-day-of-week": "invalid day", "pve-dir-override": "invalid override",
	"pve-fw-protocol-spec": "unknown protocol", "pve-fw-sport-spec": "invalid port", "pve-fw-dport-spec": "invalid port",
	"pve-vlan-id-or-range": "invalid VLAN tag", "pve-hotplug-features": "invalid hotplug feature", "pve-storage-options": "invalid options",
}

func formatText(format, value string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(format, "-list"), "-opt")
	if what, ok := looksLike[base]; ok {
		return "value does not look like a valid " + what
	}
	switch base {
	case "pve-configid":
		return "invalid configuration ID '" + value + "'"
	case "pve-storage-id":
		if len(value) < 2 {
			return "storage ID '" + value + "' cannot be shorter than 2 characters"
		}
		return "storage ID '" + value + "' contains illegal characters"
	case "pve-volume-id", "pve-volume-id-or-qm-path":
		return "unable to parse volume ID '" + value + "'"
	case "pve-tag":
		return "invalid characters in tag"
	case "pve-poolid":
		return "pool name '" + value + "' contains invalid characters"
	case "pve-groupid":
		return "group name '" + value + "' contains invalid characters"
	case "pve-roleid":
		return "role name '" + value + "' contains invalid characters"
	case "pve-iface":
		return "invalid network interface name '" + value + "'"
	case "pve-replication-job-id":
		return "invalid replication job id '" + value + "'"
	case "pve-storage-content":
		return "invalid content type '" + value + "'"
	case "pve-userid":
		return "value '" + value + "' does not look like a valid user name"
	case "pve-startup-order":
		return "unable to parse startup options"
	case "pve-cpuset":
		return "unable to parse cpuset option"
	case "pve-phys-bits":
		return "value must be an integer between 8 and 64 or 'host'"
	case "pve-sdn-fabric-id":
		return "Fabric ID '" + value + "' contains illegal characters"
	case "pve-storage-vgname":
		return "lvm name '" + value + "' contains illegal characters"
	}
	if what, ok := invalid[base]; ok {
		return what + " '" + value + "'"
	}
	return "value does not look like a valid " + base
}
