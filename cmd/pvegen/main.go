// Command pvegen makes the typed client of Proxmox VE's API from its schema.
//
// It exists so that an upgrade of Proxmox is a command and a diff to read:
//
//	pvegen -in FILE|https://NODE:8006 [-out DIR] [-check] [-drift]
//	pvegen facts -in FILE|https://NODE:8006 -out FILE
//	pvegen diff OLD NEW
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	root := newRoot()
	root.SetArgs(longFlags(os.Args[1:]))
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "pvegen: "+err.Error())
		os.Exit(1)
	}
}

// longFlags lets long flags be written with one hyphen, as Go's tools do.
func longFlags(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "--" {
			copy(out[i:], args[i:])
			break
		}
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(a) > 2 {
			a = "-" + a
		}
		out[i] = a
	}
	return out
}
