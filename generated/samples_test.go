package generated_test

import (
	"net/http/httptest"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/internal/pvesim"
)

// TestCallsPassTheCheck calls every generated method with valid values for all
// parameters that go together and holds what arrives against the check, and
// then the embedded cluster's routing and check over HTTPS.
func TestCallsPassTheCheck(t *testing.T) {
	rec := &recorder{}
	server := httptest.NewServer(rec)
	defer server.Close()
	names := methodNames(t, rec, server.URL)
	sim, err := pvesim.StartCheckOnly("127.0.0.1:0", nil)
	require.NoError(t, err)
	defer sim.Close()

	recorded, checked := client(t, server.URL), simClient(t, sim)
	for _, e := range snapshot(t).Endpoints() {
		m, err := e.Method()
		require.NoError(t, err)
		call := func(on any) error {
			f := reflect.ValueOf(on).MethodByName(names[e.String()])
			out := f.Call(sampleArgs(t, m, f.Type()))
			err, _ := out[len(out)-1].Interface().(error)
			return err
		}
		require.NoError(t, call(recorded), e)
		verb, path, params := rec.take(t)
		match, err := snapshot(t).Lookup(verb, path)
		require.NoError(t, err, e)
		require.Equal(t, e.String(), match.String())
		if fault := m.Check(match.Values, apidoc.Params(params)); fault != nil {
			t.Errorf("%v\n  sent: %v", fault, params)
			continue
		}
		assert.NoError(t, call(checked), e)
	}
}

func sampleArgs(t *testing.T, m *apidoc.Method, f reflect.Type) []reflect.Value {
	args := []reflect.Value{reflect.ValueOf(t.Context())}
	path := m.PathParams()
	for i := 1; i < f.NumIn(); i++ {
		if in := f.In(i); in.Kind() == reflect.Pointer {
			p := reflect.New(in.Elem())
			for j := range in.Elem().NumField() {
				fillSample(t, m, in.Elem().Field(j), p.Elem().Field(j))
			}
			args = append(args, p)
			continue
		}
		v := reflect.New(f.In(i)).Elem()
		prop, ok := m.Property(path[i-1])
		if !ok { // as upstream leaves out four of them
			prop = &apidoc.Property{Type: apidoc.String}
			if v.Kind() == reflect.Int {
				prop.Type = apidoc.Integer
			}
		}
		set(t, v, sample(t, m, path[i-1], prop))
		args = append(args, v)
	}
	return args
}

func fillSample(t *testing.T, m *apidoc.Method, f reflect.StructField, v reflect.Value) {
	name := f.Tag.Get("pve")
	if name == "*" {
		return
	}
	stem, indexed := strings.CutSuffix(name, "[n]")
	wire := name
	if indexed {
		first, _, _ := apidoc.IndexBounds(m.Verb, m.Path, stem)
		wire = stem + strconv.Itoa(first)
	}
	prop, ok := m.Property(wire)
	require.True(t, ok, "%s %s %s", m.Verb, m.Path, wire)
	switch {
	case indexed:
		item := reflect.New(v.Type().Elem()).Elem()
		set(t, item, sample(t, m, name, prop))
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(0), item)
	case v.Kind() == reflect.Slice:
		items := prop.Items
		if items == nil && len(prop.OneOf) > 0 {
			items = prop.OneOf[0].Items
		}
		if items == nil {
			items = &apidoc.Property{Type: apidoc.String}
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(t, v.Index(0), sample(t, m, name, items))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(t, v.Elem(), sample(t, m, name, prop))
	default:
		set(t, v, sample(t, m, name, prop))
	}
}

func set(t *testing.T, v reflect.Value, text string) {
	t.Helper()
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(text == "1")
	case reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		v.SetFloat(f)
	default:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	}
	require.NoError(t, err)
}

// candidates are texts of which the first that a parameter takes is its sample.
var candidates = []string{
	"abc", "100", "1", "100-0", "vm:100", "user@pam", "user@pam!token", "10.0.0.1", "10.0.0.0/8", "fd00::1", "fd00::/64", "1/second", "tag:aabbcc", "255.255.255.0",
	"daily", "02:00", "mon", "VM.Audit", "a@example.com", "https://example.com/a", "http://example.com/a", "example.com",
	"tcp", "80", "any", "/dev/sda", "/a/b", "BC:24:11", "BC:24:11:00:00:01", "1G", "local:iso/a.iso", "none", "host",
	"0001:0002", "0000:00:02.0", "+aes", "49.0001.1921.6800.1002.00", "a=b", "100:1", "node1:1", "acl",
	"AA" + strings.Repeat(":AA", 31), "abcdefgh", "abcd1234", "2026-01-02", "now", "scsi0", "unused0", "net0=1",
	"ok", "0644", "passthrough", "discard", "c", "0x0011223344556677", "0x1234", "q35", "/dev/parport0", "ftp", "4k", "iso=/a",
	"01234567-89ab-cdef-0123-456789abcdef", "/var/tmp/pveupload-0a", "pve1c-0123456789", "[]", `[{"path":"version","method":"GET"}]`,
	"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
}

func sample(t *testing.T, m *apidoc.Method, name string, p *apidoc.Property) string {
	if v, ok := byName[m.Path+" "+name]; ok {
		return v
	}
	var all []string
	switch {
	case len(p.Enum) > 0:
		all = p.Enum
	case p.Type == apidoc.Boolean:
		all = []string{"1"}
	case p.Minimum != nil:
		all = []string{strconv.FormatFloat(*p.Minimum, 'f', -1, 64)}
	case p.Type == apidoc.Integer || p.Type == apidoc.Number:
		all = []string{"1"}
	}
	if g := apidoc.Grammar(p); g != nil {
		var parts, any []string
		for key, k := range g {
			if k.Alias != "" {
				continue
			}
			part := key + "=" + sample(t, m, name+"."+key, k)
			if any = append(any, part); !k.Optional {
				parts = append(parts, part)
			}
		}
		sort.Strings(any)
		all = append([]string{strings.Join(parts, ",")}, any...)
	}
	for _, text := range append(all, candidates...) {
		if text != "" && takes(p, text) {
			return text
		}
	}
	assert.Fail(t, "no sample", "%s %s %s: format %q, pattern %q", m.Verb, m.Path, name, p.Format, p.Pattern)
	return ""
}

// takes asks the check about one value for one parameter.
func takes(p *apidoc.Property, text string) bool {
	alone := *p
	alone.Requires, alone.RequiresSchema = "", nil
	m := &apidoc.Method{Parameters: &apidoc.Property{Properties: map[string]*apidoc.Property{"x": &alone}, HasProperties: true}}
	return m.Check(nil, apidoc.Params{"x": {text}}) == nil
}

// byName has values where the first that fits is not one that a path can hold.
var byName = map[string]string{
	"/cluster/sdn/vnets/{vnet}/subnets/{subnet} subnet": "zone-10.0.0.0-8",
}
