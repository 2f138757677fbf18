package gen

import "strings"

// comment makes a Go comment of a text; blank lines in it part paragraphs.
// Words are never broken, so a long grammar may stand out.
func comment(text string) string {
	const width = 97
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n//\n")
		}
		b.WriteString("//")
		length := 0
		for word := range strings.FieldsSeq(paragraph) {
			if length > 0 && length+1+len(word) > width {
				b.WriteString("\n//")
				length = 0
			}
			b.WriteByte(' ')
			b.WriteString(word)
			length += 1 + len(word)
		}
	}
	return b.String()
}
