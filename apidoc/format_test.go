package apidoc

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckFormatErrors(t *testing.T) {
	var fe *FormatError
	if err := CheckFormat("pve-nod", "pve1"); !errors.As(err, &fe) || !fe.Unknown {
		t.Error(err)
	}
	for _, name := range []string{"-list", "-opt", "pve-node-alist", "pve-node-list-opt", "pve-node-array", ""} {
		if err := CheckFormat(name, ""); !errors.As(err, &fe) || !fe.Unknown {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := CheckFormat("bwlimit-list", ""); !errors.As(err, &fe) || fe.Unknown {
		t.Error(err)
	}
	if err := CheckFormat("regex", "("); err != nil {
		t.Error(err)
	}
	err := CheckFormat("timezone", "Europe/Viena")
	if !errors.As(err, &fe) || len(fe.Nearest) == 0 || fe.Nearest[0] != "Europe/Vienna" {
		t.Error(err)
	}
	if err := CheckFormat("pve-fw-protocol-spec", "TCP"); !errors.As(err, &fe) || len(fe.Nearest) == 0 || fe.Nearest[0] != "tcp" {
		t.Error(err)
	}
}

// TestFormatsOfSchemas holds that every format that a snapshot names is known
// and can be said in words.
func TestFormatsOfSchemas(t *testing.T) {
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		var walk func(where string, p *Property)
		walk = func(where string, p *Property) {
			if p == nil {
				return
			}
			if p.Format != "" {
				c := checker{era: eraOf(version)}
				if _, known := c.formatKnown("x", p.Format); !known {
					t.Errorf("%s %s: format %s is not known", version, where, p.Format)
				}
				base := strings.TrimSuffix(strings.TrimSuffix(p.Format, "-list"), "-opt")
				if f, ok := formats[base]; ok && f.ok != nil && FormatForm(p.Format) == "" {
					t.Errorf("format %s is not said in words", p.Format)
				}
			}
			for k, q := range p.Properties {
				walk(where+"."+k, q)
			}
			for k, q := range p.Nested {
				walk(where+"."+k, q)
			}
			walk(where, p.Items)
			walk(where, p.TypePropertySchema)
			for _, q := range append(p.OneOf, p.AllOf...) {
				walk(where, q)
			}
		}
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			walk(e.String(), m.Parameters)
		}
	}
	for name, f := range formats {
		if strings.HasSuffix(name, "-list") || strings.HasSuffix(name, "-opt") {
			t.Errorf("%s can never be found under that name", name)
		}
		if (f.ok == nil) != (f.form == "") {
			t.Errorf("%s: a rule and its words belong together", name)
		}
	}
	if FormatForm("pve-vmid-list") != "a list, each a vmid (a number from 100 to 999999999)" || !strings.HasPrefix(FormatForm("pve-qm-boot"), "a property string ") || FormatForm("nope") != "" {
		t.Error("FormatForm")
	}
}

func TestListItems(t *testing.T) {
	for in, want := range map[string][]string{
		"":                     nil,
		" ,; \n":               nil,
		"a,,b":                 {"a", "b"},
		"a;b c\t d\n":          {"a", "b", "c", "d"},
		"\u00a0a\u00a0b\u2028": {"a", "b"},
		"a\x00b":               {"a", "b"},
		"\x00a\x00\x00b\x00":   {"", "a", "", "b"},
		"a,b\x00c d":           {"a,b", "c d"},
		"\x00\x00":             nil,
	} {
		var got []string
		eachListItem(in, func(item string) bool { got = append(got, item); return true })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

func TestCalendarEvents(t *testing.T) {
	for _, good := range []string{
		"daily", " hourly\n", "semi-annually", "semiannually", "monthly UTC", "dailyUTC", "daily  UTC", "mon", "MonDay", "mon,wed", "fri..mon", "mon..fri,sun 10:00",
		"mon10:00", "mon*:00", "mon \t 10:00", "*-*-* 10:00", "*-*-*10:00", "2024-02-30", "0-1", "1-1 1", "2199-12-31", "25:00", "24:00", "59:59",
		"23:59:59", "5..10/0", "*/15", "0/15", "*:0/15", "1,2..5,10/7:30", "02:30 UTC", "monUTC", "00..23:59", "sat 18:00:00", "0", "59",
	} {
		if !isCalendarEvent(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{
		"", " ", "UTC", "60", "*/60", "*/0", "Daily", "dailyx", "daily 10:00", "mon-fri", "mon, wed", "mon,", "tues", "10:00 utc", "1 1", "10..5", "daily\tUTC", "~1",
		"1,*", "*,1", "2024-01-01T10:00", "2200-01-01", "13-01-01x", "23:60", "25:61", "23:59:60", "10:00:00:00", "99999999999", "1/99999999999", "mon..",
		"10:00 mon", ":30", "10:", "١٠:00", "mon..xyz", "5../2x",
	} {
		if isCalendarEvent(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestFirewallAddresses(t *testing.T) {
	for _, good := range []string{
		"", "10", "10.1", "10.0.0.0/8,10.1.0.0/16", "010.0.0.1", "10.0.0.1-10.0.0.9", "10.0.0.1 - 10.0.0.9", "10.0.0.1-10.0.0.9..", "+dc/x", "+a", "dc/ab", "ab",
		"::1/128", "fe80::/10", "::ffff:10.1", "2001:db8::1-2001:db8::9", "10.0.0.0/a", "10.0.0.0/8/8", "10.0.0.0/8/", "10.0.0.0/8-10.0.0.1", "10.0.0.1 + 5",
		"+" + strings.Repeat("a", 64), strings.Repeat("a", 64), "10.0.0.1\n", "::1,::2",
	} {
		if !isAddressSpec(newestEra, good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{
		"a", "10.0.0.1/8", "10.0.0.1,::1", "10.0.0.1, 10.0.0.2", "10.0.0.1-10.0.0.2,10.0.0.3", "10.0.0.1,", ",10.0.0.1", "10.0.0.9-10.0.0.1", "10.0.0.256", "10.0.0.0.0",
		"1000", "10.0.0.1-::1", "::1/129", "10.0.0.0/33", "::2:3:4:5:6:7:8", "+", "+a b", "foo/ab", "10.0.0.1+5", "::1::", "+" + strings.Repeat("a", 65), strings.Repeat("a", 65),
	} {
		if isAddressSpec(newestEra, bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

// FuzzFormats holds that no format panics, that each is the same on a second
// look, and that reasons are one short line of valid text.
func FuzzFormats(f *testing.F) {
	for _, seed := range []string{"", "0", "a,b\x00c", "10.0.0.0/8-::1", "2024-*-1..5/0 10:00 UTC", "-----BEGIN X-----\nA=\n=\n-----END Y-----", `[{"path":"\ud800"}]`, "\xff\xfe", "fe80::1%eth0", "a=b,c", strings.Repeat("-", 300)} {
		f.Add(seed)
	}
	names := sortedKeys(formats)
	names = append(names, sortedKeys(grammars())...)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range names {
			err := CheckFormat(name, text)
			if again := CheckFormat(name, text); (err == nil) != (again == nil) {
				t.Fatalf("%s %q: %v, then %v", name, text, err, again)
			}
			if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 4000 || !utf8.ValidString(err.Error())) {
				t.Errorf("%s %q: reason %q", name, text, err)
			}
			if formats[name].ok != nil {
				if CheckFormat(name+"-list", "") != nil || CheckFormat(name+"-opt", "0") != nil {
					t.Errorf("%s: an empty list or option is refused", name)
				}
			}
		}
	})
}

func FuzzCalendarEvent(f *testing.F) {
	for _, seed := range []string{"mon..fri 10:00/5", "*-*-1..7 *:*:*", "daily UTC", "1,2,3,4:5", "99999999999999999999", "..", "*/", "UTCUTC"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ok := isCalendarEvent(text)
		// Blanks around an event and the final UTC never decide.
		if spaced := isCalendarEvent(" " + text + "\n"); spaced != ok {
			t.Errorf("%q: %v, with blanks %v", text, ok, spaced)
		}
		if ok && !strings.HasSuffix(strings.TrimSpace(text), "UTC") && !isCalendarEvent(strings.TrimSpace(text)+" UTC") {
			t.Errorf("%q is an event, but not in UTC", text)
		}
	})
}
