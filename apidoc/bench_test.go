package apidoc

import "testing"

func BenchmarkParseSnapshot(b *testing.B) {
	data, err := factFiles.ReadFile("facts/pve-9.2.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, "9.2"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	s, err := Snapshot(Newest)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Lookup(GET, "/nodes/pve1/qemu/100/config"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMethod(b *testing.B) {
	s, err := Snapshot(Newest)
	if err != nil {
		b.Fatal(err)
	}
	e, _ := s.Endpoint(POST, "/nodes/{node}/qemu")
	for b.Loop() {
		if _, err := decodeMethod(e); err != nil {
			b.Fatal(err)
		}
	}
}
