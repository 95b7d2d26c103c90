package cli

import "regexp"

// PlainWords says in the words of a user what libraries of Go say of a value in theirs, line
// by line: what was given, and what is wanted.
func PlainWords(text string) string {
	for _, w := range libraryWords {
		text = w.said.ReplaceAllString(text, w.plain)
	}
	return text
}

const (
	quotedText = `("(?:[^"\\]|\\.)*")`
	wantWhole  = `want a whole number`
)

// libraryWords are tried in this order.
var libraryWords = []struct {
	said  *regexp.Regexp
	plain string
}{
	// net/netip
	{regexp.MustCompile(`(?m)ParseAddr\(` + quotedText + `\): [^(\n]*?(?: \(at "[^"]*"\))?( \((?:[^a]|a[^t])|$)`), `$1: want an IP address, such as 10.4.0.1$2`},
	{regexp.MustCompile(`(?m)netip\.ParsePrefix\(` + quotedText + `\): [^(\n]*?( \(|$)`), `$1: want a prefix, such as 10.4.0.0/24$2`},
	{regexp.MustCompile(`\bnot an ip:port\b`), `want an IP address and a port, such as 127.0.0.1:9090`},
	// time, strconv, and kong around them
	{regexp.MustCompile(`expected duration but got ` + quotedText + `: time: [^(\n]*` + quotedText), `$1: want a duration, such as 30s`},
	{regexp.MustCompile(`time: (?:invalid duration|(?:missing|unknown) unit [^"\n]*(?:"[^"\n]*" )?in duration) ` + quotedText), `$1: want a duration, such as 30s`},
	{regexp.MustCompile(`expected a valid (?:8|16|32|64) bit u?int but got ` + quotedText), `$1: ` + wantWhole},
	{regexp.MustCompile(`expected an? (?:u?int|integer) but got ` + quotedText + `(?: \(\w+\))?`), `$1: ` + wantWhole},
	{regexp.MustCompile(`expected a float but got ` + quotedText + `(?: \(\w+\))?`), `$1: want a number`},
	{regexp.MustCompile(`expected \w+ value but got ` + quotedText + ` \(short flag\); perhaps try (\S+)\?`), `$1 looks like a flag: for a value write $2`},
	{regexp.MustCompile(`strconv\.(?:ParseInt|ParseUint|Atoi): parsing ` + quotedText + `: value out of range`), `$1: want a number that is nearer to 0`},
	{regexp.MustCompile(`strconv\.(?:ParseInt|ParseUint|Atoi): parsing ` + quotedText + `: invalid syntax`), `$1: ` + wantWhole},
	{regexp.MustCompile(`strconv\.ParseFloat: parsing ` + quotedText + `: [^(\n]*`), `$1: want a number`},
	{regexp.MustCompile(`strconv\.ParseBool: parsing ` + quotedText + `: [^(\n]*`), `$1: want true or false`},
	// encoding/json, encoding/hex
	{regexp.MustCompile(`invalid character '[^\n]*' (?:looking for|after|in) [a-z \-:]*`), `this is no JSON`},
	{regexp.MustCompile(`unexpected end of JSON input`), `this JSON has no end`},
	{regexp.MustCompile(`json: cannot unmarshal (\w+) into Go (?:struct field [^\s.]*\.([\w.]+)|value) of type \S+`), `a $1 is not what belongs there: $2`},
	{regexp.MustCompile(`encoding/hex: invalid byte: U\+[0-9A-F]+ ('[^\n]+')`), `$1: want hexadecimal digits`},
	{regexp.MustCompile(`encoding/hex: odd length hex string`), `want two hexadecimal digits for each octet`},
	// os/exec
	{regexp.MustCompile(`exec: ` + quotedText + `: (?:executable file not found in \$PATH|stat \S+: no such file or directory)`), `$1 is not there: it is not installed, or not in PATH`},
}
