package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/plumbline-upf/plumbline/internal/atomicfile"
)

// table writes rows of one kind.
type table[T any] interface {
	Write(rows []T) error
	Close() error
}

// LabCSV writes l to a directory as CSV (RFC 4180), with a line of column names:
// figures.csv, trials.csv, streams.csv, series.csv, histograms.csv and n4.csv, of these
// what there is. The directory is made if it is missing.
//
// Errors: those of the file system.
func LabCSV(directory string, l *Lab) error { return exportTables(directory, ".csv", l) }

// LabParquet is [LabCSV] in Parquet, packed with Zstandard.
func LabParquet(directory string, l *Lab) error { return exportTables(directory, ".parquet", l) }

func exportTables(directory, extension string, l *Lab) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	name := func(table string) string { return filepath.Join(directory, table+extension) }
	return errors.Join(
		exportRows(name("figures"), l.figureRows()),
		exportRows(name("trials"), l.trialRows()),
		exportRows(name("streams"), l.streamRows()),
		exportRows(name("series"), l.seriesRows()),
		exportRows(name("n4"), l.n4Rows()),
		exportTable(name("histograms"), l.histogramRows),
	)
}

func exportRows[T any](name string, rows []T) error {
	return exportTable(name, func(write func([]T) error) error {
		if len(rows) == 0 {
			return nil
		}
		return write(rows)
	})
}

// exportTable writes the rows that each calls its argument with to a file that gets
// its name when it is whole. There is none without rows, nor one of an earlier result.
func exportTable[T any](name string, each func(write func([]T) error) error) (err error) {
	var f *atomicfile.File
	var to table[T]
	defer func() {
		if err != nil && f != nil {
			err = errors.Join(err, f.Discard())
		}
	}()
	err = each(func(rows []T) (err error) {
		if f == nil {
			if f, err = atomicfile.Create(name); err != nil {
				return err
			}
			to = newTable[T](f, filepath.Ext(name))
		}
		return to.Write(rows)
	})
	if err != nil {
		return err
	}
	if f == nil {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	whole := f
	f = nil // it is ended
	return whole.Keep()
}

func newTable[T any](w io.Writer, extension string) table[T] {
	if extension == ".parquet" {
		return parquetTable[T]{parquet.NewGenericWriter[T](w, parquet.Compression(&zstd.Codec{}))}
	}
	return newCSVTable[T](w)
}

type parquetTable[T any] struct{ *parquet.GenericWriter[T] }

// Write adds rows.
func (t parquetTable[T]) Write(rows []T) error {
	_, err := t.GenericWriter.Write(rows)
	return err
}

// csvTable has a column for each field, named after its tag.
type csvTable[T any] struct {
	w      *csv.Writer
	fields []reflect.StructField
}

func newCSVTable[T any](w io.Writer) *csvTable[T] {
	t := &csvTable[T]{w: csv.NewWriter(w)}
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if tag, ok := f.Tag.Lookup("parquet"); ok {
			t.fields, names = append(t.fields, f), append(names, columnName(tag))
		}
	}
	// Errors of a csv.Writer stay until Close asks for them.
	_ = t.w.Write(names)
	return t
}

// columnName is the tag without what the Parquet type needs.
func columnName(tag string) string {
	for i, r := range tag {
		if r == ',' {
			return tag[:i]
		}
	}
	return tag
}

// Write adds rows.
func (t *csvTable[T]) Write(rows []T) error {
	line := make([]string, len(t.fields))
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		for j, f := range t.fields {
			line[j] = csvValue(v.FieldByIndex(f.Index))
		}
		if err := t.w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// csvValue writes numbers so that they are read back the same. Text that a spreadsheet
// would take for a formula has an apostrophe before it.
func csvValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.Format(time.RFC3339Nano)
	case string:
		if x != "" && (x[0] == '=' || x[0] == '+' || x[0] == '-' || x[0] == '@') {
			return "'" + x
		}
		return x
	}
	return fmt.Sprint(v.Interface())
}

// Close writes what is left.
func (t *csvTable[T]) Close() error {
	t.w.Flush()
	return t.w.Error()
}
