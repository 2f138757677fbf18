package render

import "testing"

// Only the rows that can be shown are turned into cells, except for the columns
// that are counted.
func TestOnlyShownRowsAreFormatted(t *testing.T) {
	for _, f := range []Format{Text, JSON} {
		gs := guests(5000, 1)
		tab := guestTable(gs)
		calls := map[string]int{}
		for i, c := range tab.Columns {
			tab.Columns[i].Cell = func(g *guest) Cell {
				calls[c.Name]++
				return c.Cell(g)
			}
		}
		keys := 0
		key := tab.Key
		tab.Key = func(g *guest) string {
			keys++
			return key(g)
		}
		d := &Doc{}
		d.Add(tab)
		mustRender(t, d, Options{Format: f})
		if calls["name"] == 0 || calls["name"] > 200 {
			t.Errorf("%s: %d names formatted for one page", f, calls["name"])
		}
		if calls["node"] < 5000 || calls["node"] > 5200 {
			t.Errorf("%s: %d nodes read to count 5000", f, calls["node"])
		}
		if keys != 5000 {
			t.Errorf("%s: %d keys made for 5000 rows", f, keys)
		}
	}
}
