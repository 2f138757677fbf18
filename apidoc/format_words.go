package apidoc

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed named/words.txt
var wordFile string

// wordSections reads the closed sets of words that formats admit.
var wordSections = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	name := ""
	for line := range strings.SplitSeq(wordFile, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			name = strings.Trim(line, "[]")
		default:
			out[name] = append(out[name], strings.Fields(line)...)
		}
	}
	return out
})

// FirewallMacros lists the names of the firewall's macros. A rule's macro is
// compared without regard to case by Proxmox's code, not by its schema.
func FirewallMacros() []string { return append([]string(nil), wordSections()["macro"]...) }
