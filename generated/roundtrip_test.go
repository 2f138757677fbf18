package generated_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/generated"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
)

// recorder answers every request with null and keeps what it was.
type recorder struct {
	mu   sync.Mutex
	last *http.Request
	body string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.last, r.body = req, string(body)
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	_, _ = io.WriteString(w, `{"data":null}`)
}

// take gives what arrived since the last call of it: the path as it was sent,
// below /api2/json, and the parameters from where they belong.
func (r *recorder) take(t *testing.T) (verb apidoc.Verb, path string, params url.Values) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotNil(t, r.last, "nothing arrived")
	req, body := r.last, r.body
	r.last, r.body = nil, ""
	path, query, asked := strings.Cut(req.RequestURI, "?")
	path, ok := strings.CutPrefix(path, "/api2/json")
	require.True(t, ok, path)
	text := query
	switch req.Method {
	case "GET", "DELETE":
		assert.Empty(t, body)
	default:
		assert.False(t, asked, "%s: parameters in the query", req.RequestURI)
		text = body
		if body != "" {
			assert.Equal(t, "application/x-www-form-urlencoded", req.Header.Get("Content-Type"))
		}
	}
	params, err := url.ParseQuery(text)
	require.NoError(t, err)
	return apidoc.Verb(req.Method), path, params
}

func client(t *testing.T, host string) *generated.Client {
	t.Helper()
	token, err := pverest.ParseTokenID("root@pam!test", "00000000-0000-0000-0000-000000000000")
	require.NoError(t, err)
	transport, err := pverest.NewTransport(pverest.Config{Hosts: []string{host}, Token: token})
	require.NoError(t, err)
	return generated.New(pverest.NewClient(transport))
}

func simClient(t *testing.T, sim *pvesim.Server) *generated.Client {
	t.Helper()
	token, err := pverest.ParseTokenID("root@pam!test", "00000000-0000-0000-0000-000000000000")
	require.NoError(t, err)
	transport, err := pverest.NewTransport(pverest.Config{Hosts: []string{sim.URL()}, Token: token, Fingerprint: sim.Fingerprint()})
	require.NoError(t, err)
	return generated.New(pverest.NewClient(transport))
}

func snapshot(t *testing.T) *apidoc.Schema {
	t.Helper()
	s, err := apidoc.Snapshot(apidoc.Newest)
	require.NoError(t, err)
	return s
}

// odd has what an encoder could get wrong and a path value may still hold.
const odd = "%2F%&+=?#;é'\"\\"

// TestEveryMethodArrives calls every generated method with values that need
// escaping and looks at what comes over the wire: the verb, the path, and each
// parameter under its name, in the query or in the form.
func TestEveryMethodArrives(t *testing.T) {
	rec := &recorder{}
	server := httptest.NewServer(rec)
	defer server.Close()
	reached := methodNames(t, rec, server.URL)
	// 675 of 675.
	schema := snapshot(t)
	assert.Len(t, reached, len(schema.Endpoints()))
	assert.Len(t, reached, generated.Count)
	assert.Len(t, reached, 675)
	for _, e := range schema.Endpoints() {
		assert.NotEmpty(t, reached[e.String()], "no method for %s", e)
	}
}

// methodNames calls every method and gives its Go name by what arrived.
func methodNames(t *testing.T, rec *recorder, host string) map[string]string {
	t.Helper()
	c := client(t, host)
	schema := snapshot(t)
	reached := make(map[string]string)
	for i := range reflect.TypeOf(c).NumMethod() {
		name := reflect.TypeOf(c).Method(i).Name
		call := reflect.ValueOf(c).Method(i)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		var values []string
		want := url.Values{}
		for j := 1; j < call.Type().NumIn(); j++ {
			in := call.Type().In(j)
			if in.Kind() == reflect.Pointer {
				p := reflect.New(in.Elem())
				fillOdd(t, p.Elem(), want)
				args = append(args, p)
				continue
			}
			v, text := oddArg(in, j)
			args, values = append(args, v), append(values, text)
		}
		results := call.Call(args)
		err, _ := results[len(results)-1].Interface().(error)
		require.NoError(t, err, name)

		verb, path, params := rec.take(t)
		match, err := schema.Lookup(verb, path)
		require.NoError(t, err, name)
		require.Equal(t, substitute(match.Path, values), segments(t, path), name)
		require.Equal(t, want, params, name)
		require.Empty(t, reached[match.String()], "%s: two methods for %s", name, match)
		reached[match.String()] = name
	}
	return reached
}

func oddArg(in reflect.Type, at int) (reflect.Value, string) {
	text := ""
	switch {
	case in == reflect.TypeFor[apidoc.VMID]() || in.Kind() == reflect.Int:
		n := 1000 + at
		return reflect.ValueOf(n).Convert(in), strconv.Itoa(n)
	case in == reflect.TypeFor[apidoc.VolID]():
		text = fmt.Sprintf("v%d:iso/%s.iso", at, odd)
	default:
		text = fmt.Sprintf("s%d%s", at, odd)
	}
	return reflect.ValueOf(text).Convert(in), text
}

// fillOdd sets every field and says what must go over the wire.
func fillOdd(t *testing.T, p reflect.Value, want url.Values) {
	for i := range p.NumField() {
		name := p.Type().Field(i).Tag.Get("pve")
		field := p.Field(i)
		text := func(at int) string { return fmt.Sprintf("%s %d\n%s", name, at, odd) }
		switch {
		case name == "*":
			field.Set(reflect.ValueOf(map[string]string{"further": text(0)}))
			want["further"] = []string{text(0)}
		case strings.HasSuffix(name, "[n]"):
			field.Set(reflect.MakeMap(field.Type()))
			for _, n := range [...]int{0, 7} {
				v := reflect.New(field.Type().Elem()).Elem()
				want[strings.TrimSuffix(name, "[n]")+strconv.Itoa(n)] = []string{setOdd(t, v, text(n), n)}
				field.SetMapIndex(reflect.ValueOf(n), v)
			}
		case field.Kind() == reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 2, 2))
			want[name] = []string{setOdd(t, field.Index(0), text(1), 1), setOdd(t, field.Index(1), text(2), 2)}
		case field.Kind() == reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
			want[name] = []string{setOdd(t, field.Elem(), text(i), i)}
		default:
			want[name] = []string{setOdd(t, field, text(i), i)}
		}
	}
}

func setOdd(t *testing.T, v reflect.Value, text string, n int) string {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return text
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) + 1<<40)
		return strconv.FormatInt(int64(n)+1<<40, 10)
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.25)
		return strconv.Itoa(n) + ".25"
	case reflect.Bool:
		v.SetBool(n%2 == 0)
		return map[bool]string{true: "1", false: "0"}[n%2 == 0]
	}
	require.Fail(t, "no sample", "%s", v.Type())
	return ""
}

// segments splits a path as it was sent and undoes the escapes of each part.
func segments(t *testing.T, path string) []string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		require.NoError(t, err)
		parts[i] = plain
	}
	return parts
}

func substitute(template string, values []string) []string {
	parts := strings.Split(template, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") && len(values) > 0 {
			parts[i], values = values[0], values[1:]
		}
	}
	return append(parts, values...)
}

// A value that can't be sent in a path is refused before anything is.
func TestPathValuesThatCannotBeSent(t *testing.T) {
	rec := &recorder{}
	server := httptest.NewServer(rec)
	defer server.Close()
	c := client(t, server.URL)
	for _, node := range []apidoc.Node{"", ".", "..", "a/b", "a b", "a\nb", "a\x00b"} {
		_, err := c.GetNodesStatus(t.Context(), node)
		var e *pverest.Error
		require.ErrorAs(t, err, &e, "%q", node)
		assert.Equal(t, pverest.KindBadCall, e.Kind)
		assert.Contains(t, e.Params, "node")
		assert.Nil(t, rec.last)
	}
}

// An answer comes back through the typed result: indexed keys, numbers as
// text, unknown keys.
func TestAnswersAreDecoded(t *testing.T) {
	answers := map[string]string{
		"/api2/json/nodes/pve1/qemu/100/config":       `{"name":"a","cores":"4","net0":"virtio=BC:24:11:00:00:01","net12":"e1000","net01":"no","scsi0":"local:1","numa":1,"numa0":"cpus=0","never":{}}`,
		"/api2/json/nodes/pve1/qemu":                  `[{"vmid":"100","status":"running","mem":1.5e9,"template":""},{"vmid":101}]`,
		"/api2/json/nodes/pve1/qemu/100/status/start": `"UPID:pve1:00005295:0003FE72:6B0DDAB4:qmstart:100:root@pam:"`,
		"/api2/json/cluster/nextid":                   `"105"`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"data":%s}`, answers[r.URL.Path])
	}))
	defer server.Close()
	c := client(t, server.URL)
	ctx := t.Context()

	config, err := c.GetNodesQemuConfig(ctx, "pve1", 100, nil)
	require.NoError(t, err)
	assert.Equal(t, "a", config.Name.V)
	assert.Equal(t, int64(4), config.Cores.V)
	assert.True(t, config.Numa.V)
	assert.Equal(t, "cpus=0", config.NumaN[0].V)
	assert.Len(t, config.Net, 2)
	assert.Equal(t, "e1000", config.Net[12].V)
	assert.Equal(t, "local:1", config.Scsi[0].V)
	assert.False(t, config.Memory.Set)

	guests, err := c.GetNodesQemu(ctx, "pve1", nil)
	require.NoError(t, err)
	require.Len(t, guests, 2)
	assert.Equal(t, int64(100), guests[0].Vmid.V)
	assert.Equal(t, int64(1500000000), guests[0].Mem.V)
	assert.False(t, guests[0].Template.V)

	upid, err := c.PostNodesQemuStatusStart(ctx, "pve1", 100, nil)
	require.NoError(t, err)
	_, err = apidoc.ParseUPID(string(upid))
	require.NoError(t, err)
}
