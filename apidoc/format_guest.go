package apidoc

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// guestFormats are settings of VMs and containers.
var guestFormats = map[string]format{
	"pve-startup-order":    {form: "a start-up order (order=N,up=SECONDS,down=SECONDS)", ok: isStartup},
	"pve-hotplug-features": {form: "0, 1 or a list of network, disk, cpu, memory, usb, cloudinit", ok: isHotplug},
	"pve-cpuset":           {form: "a list of CPUs (0,2-4)", ok: isCPUSet},
	"pve-phys-bits":        {form: "host or a number of bits from 8 to 64", ok: isPhysBits},
	"pve-qm-bootdisk": {form: "a disk of a VM (ide0-3, scsi0-30, virtio0-15, sata0-5, efidisk0, tpmstate0)",
		ok: func(_ era, s string) bool { return bootDisks()[s] }},
	"pve-qm-bootdev": {form: "a boot device (a disk such as scsi0, net0-31, usb0-13, hostpci0-15)",
		ok: func(_ era, s string) bool { return bootDevices()[s] }},
	"timezone": {form: "a time zone (UTC, or Area/City as in zone.tab)", ok: isTimezone, words: func(era) []string { return timezones() }},
	"pve-ct-timezone": {form: "a time zone (host, UTC, or Area/City as in zone.tab)",
		ok: func(e era, s string) bool { return s == "host" || isTimezone(e, s) }, words: func(era) []string { return timezones() }},
	"pve-lxc-mp-string": {form: "a path without . and .. parts", ok: isMountPath},
	"pve-lxc-dev-string": {form: "a device path below /dev", ok: func(_ era, s string) bool {
		return strings.HasPrefix(s, "/dev/") && !hasDotPart(s)
	}},
	"pve-qm-usb-device": {form: "a USB device (vendor:product, bus-port or spice)", ok: func(e era, s string) bool {
		return s != "" && s != "0" && usbDevice(e, s)
	}},
	"pve-calendar-event": {form: "a calendar event (such as daily, mon..fri 02:30 or *:0/15)",
		ok: func(_ era, s string) bool { return isCalendarEvent(s) }},
}

var usbDevice = rx(`(?:(?:0x)?[` + classXDigit + `]{4}:(?:0x)?[` + classXDigit + `]{4}|[<ND>]+-[<ND>]+(?:\.[<ND>]+)*|(?i:spice))`)

// isStartup does not split at semicolons and takes repeats.
func isStartup(_ era, s string) bool {
	if s == "" || s == "0" {
		return false
	}
	for _, part := range perlSplit(s) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		part = chomp(part)
		for _, key := range [...]string{"order=", "up=", "down="} {
			if rest, ok := strings.CutPrefix(part, key); ok {
				part = rest
				break
			}
		}
		if !allDigits(part) {
			return false
		}
	}
	return true
}

func isHotplug(_ era, s string) bool {
	if s == "0" || s == "1" {
		return true
	}
	ok := true
	eachListItem(s, func(item string) bool {
		switch item {
		case "network", "disk", "cpu", "memory", "usb", "cloudinit":
		default:
			ok = false
		}
		return ok
	})
	return ok
}

func isCPUSet(_ era, s string) bool {
	for _, part := range perlSplit(s) {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !allDigits(from) || isRange && (!allDigits(to) || digitsValue(from) > digitsValue(to)) {
			return false
		}
	}
	return true
}

func isPhysBits(_ era, s string) bool {
	s = chomp(s)
	n := digitsValue(s)
	return s == "host" || allDigits(s) && characters(s) <= 2 && n >= 8 && n <= 64
}

func deviceSet(kinds ...string) map[string]bool {
	set := map[string]bool{}
	for _, kind := range kinds {
		for i := 0; i <= lastIndex[kind]; i++ {
			set[fmt.Sprintf("%s%d", kind, i)] = true
		}
	}
	return set
}

var bootDisks = sync.OnceValue(func() map[string]bool {
	set := deviceSet("ide", "scsi", "virtio", "sata")
	set["efidisk0"], set["tpmstate0"] = true, true
	return set
})

var bootDevices = sync.OnceValue(func() map[string]bool {
	return deviceSet("ide", "scsi", "virtio", "sata", "net", "usb", "hostpci")
})

var (
	timezones   = section("timezone")
	timezoneSet = wordSet("timezone")
)

func isTimezone(_ era, s string) bool { return s == "UTC" || timezoneSet()[s] }

// hasDotPart tells whether a path has . or .. between slashes or at its end.
func hasDotPart(s string) bool {
	return strings.Contains(s, "/./") || strings.Contains(s, "/../") ||
		strings.HasSuffix(chomp(s), "/.") || strings.HasSuffix(chomp(s), "/..")
}

func isMountPath(_ era, s string) bool { return !hasDotPart(s) && !strings.HasPrefix(s, "../") }

// validators are rules of named property strings beyond their grammars.
var validators = map[string]validator{
	"prune-backups":   validatePrune,
	"backup-fleecing": validateFleecing,
	"pve-cpu-conf":    validateCPU,
	"pve-vm-cpu-conf": validateVMCPU,
}

func validatePrune(_ era, given map[string]value) string {
	keeps := false
	for key, v := range given {
		if key != "keep-all" && numeric(v.text) > 0 {
			keeps = true
		}
	}
	if keeps && given["keep-all"].truthy() {
		return "keep-all can't be combined with other keep rules"
	}
	return ""
}

func validateFleecing(_ era, given map[string]value) string {
	if given["enabled"].truthy() && !given["storage"].truthy() {
		return "storage must be given when enabled is set"
	}
	return ""
}

func validateCPU(_ era, given map[string]value) string {
	if !given["cputype"].truthy() {
		return "the CPU type is missing"
	}
	return ""
}

var cpuFlagSet = wordSet("cpu-flag")

func validateVMCPU(e era, given map[string]value) string {
	if reason := validateCPU(e, given); reason != "" {
		return reason
	}
	cpu := given["cputype"].text
	models := grammars()["pve-vm-cpu-conf"].Properties["reported-model"].Enum
	known := e.beyond() || e.before(9, 2) || strings.HasPrefix(cpu, "custom-") || slices.Contains(models, cpu)
	switch cpu {
	case "x86-64-v2", "x86-64-v2-AES", "x86-64-v3", "x86-64-v4":
		known = true
	}
	if !known {
		f := Fault{Reason: show(cpu) + " is no CPU type of a VM", Nearest: Nearest(cpu, models, 3)}
		return f.Text()
	}
	if flags, ok := given["flags"]; ok && !e.beyond() {
		for flag := range strings.SplitSeq(chomp(flags.text), ";") {
			if len(flag) < 2 || !cpuFlagSet()[flag[1:]] {
				return show(flag) + " is no CPU flag that can be set; + or - and " + enumForm(section("cpu-flag")())
			}
		}
	}
	if _, ok := given["reported-model"]; ok {
		return "reported-model is only for custom CPU models"
	}
	return ""
}
