package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// value is one given value together with its declaration.
type value struct {
	s    *Setting
	text string
}

func (v value) list() []string {
	return append([]string(nil), strings.FieldsFunc(v.text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '\t' || r == '\n' })...)
}

func (v value) int() (int, error) {
	n, err := strconv.Atoi(v.text)
	if err != nil || n < v.s.Min || n > v.s.Max {
		return 0, fmt.Errorf("a whole number from %d to %d is needed", v.s.Min, v.s.Max)
	}
	return n, nil
}

// seconds takes plain seconds ("30", "2.5") or a Go duration ("30s", "2m").
func (v value) seconds() (time.Duration, error) {
	d, err := time.ParseDuration(v.text)
	if f, ferr := strconv.ParseFloat(v.text, 64); ferr == nil {
		d, err = time.Duration(f*float64(time.Second)), nil
	}
	if err != nil || d < time.Duration(v.s.Min)*time.Second || d > time.Duration(v.s.Max)*time.Second {
		return 0, fmt.Errorf("a number of seconds from %d to %d is needed", v.s.Min, v.s.Max)
	}
	return d, nil
}

func (v value) bool() (bool, error) {
	switch strings.ToLower(v.text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("true or false is needed")
}

// check holds a value against the choices of its declaration.
func (v value) check() error {
	if len(v.s.Choices) == 0 {
		return nil
	}
	items := []string{v.text}
	if v.s.Kind == KindList {
		items = v.list()
	}
	for _, item := range items {
		if !contains(v.s.Choices, item) {
			return fmt.Errorf("%q is not known; known: %s", item, strings.Join(v.s.Choices, ", "))
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}
