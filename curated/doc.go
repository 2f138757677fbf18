// Package curated holds the tools that an agent sees.
//
// It exists because an API of 675 methods is not something to hand to a
// language model: it would cost the whole context and leave every trap in
// place. The tools here are few, written by hand, and each answers a question
// that an operator really has. A tool is declared once, as a [Tool] in the file
// of its family; the declaration gives its input schema, its annotations, its
// class and its line in the documentation. Everything a tool says goes through
// curated/render, everything it asks goes through the gate of curated/gate, and
// whatever goes wrong is put into words in one place (explain.go).
package curated
