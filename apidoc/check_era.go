package apidoc

import "fmt"

// era is the release whose rules apply: major*1000+minor, as versionNumber
// gives it. Rules that changed between releases ask it; a schema without a
// readable version is taken for the newest.
type era int

var newestEra = eraOf(Newest)

func eraOf(version string) era {
	n, ok := versionNumber(version)
	if !ok {
		n, _ = versionNumber(Newest)
	}
	return era(n)
}

func (e era) before(major, minor int) bool { return e != 0 && int(e) < major*1000+minor }

// beyond tells that the release is newer than what this package's facts are of.
func (e era) beyond() bool { return e > newestEra }

// String gives "9.2".
func (e era) String() string { return fmt.Sprintf("%d.%d", int(e)/1000, int(e)%1000) }
