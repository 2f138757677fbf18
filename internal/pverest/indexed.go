package pverest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// UnmarshalIndexed decodes a JSON object into the struct that v points to as
// json.Unmarshal does, and then collects indexed keys: a field with a tag such
// as pve:"net[n]" must be a map[int]T and gets what net0, net1, … hold. It is
// for results with such keys (guest configurations); their types call it from
// UnmarshalJSON on a type without that method. Keys with a leading zero in
// their index are none of Proxmox's and are left out.
func UnmarshalIndexed(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	target := reflect.ValueOf(v).Elem()
	stems, err := indexedFields(target.Type())
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for key, raw := range all {
		stem := strings.TrimRight(key, "0123456789")
		at, ok := stems[stem]
		digits := key[len(stem):]
		if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			continue
		}
		field := target.Field(at)
		value := reflect.New(field.Type().Elem())
		if err := json.Unmarshal(raw, value.Interface()); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if field.IsNil() {
			field.Set(reflect.MakeMap(field.Type()))
		}
		field.SetMapIndex(reflect.ValueOf(n), value.Elem())
	}
	return nil
}

var indexedStems sync.Map // reflect.Type → map[string]int

func indexedFields(t reflect.Type) (map[string]int, error) {
	if known, ok := indexedStems.Load(t); ok {
		return known.(map[string]int), nil
	}
	stems := make(map[string]int)
	for i := range t.NumField() {
		f := t.Field(i)
		stem, ok := strings.CutSuffix(f.Tag.Get("pve"), "[n]")
		if !ok {
			continue
		}
		if f.Type.Kind() != reflect.Map || f.Type.Key().Kind() != reflect.Int {
			return nil, fmt.Errorf("result field %s.%s: an indexed key needs a map[int], not %s", t, f.Name, f.Type)
		}
		stems[stem] = i
	}
	indexedStems.Store(t, stems)
	return stems, nil
}
