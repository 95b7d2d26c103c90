// Package atomicfile writes files that get their name when they are whole: a reader finds
// what was there before, or all of the new one.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// suffix is that of a file that is not whole yet.
const suffix = ".part"

// File is one that is being written. It ends with [File.Keep] or [File.Discard].
type File struct {
	*os.File
	name string
}

// Create begins a file. One that was not ended, of the same name, is overwritten.
func Create(name string) (*File, error) {
	f, err := os.Create(name + suffix)
	if err != nil {
		return nil, err
	}
	return &File{f, name}, nil
}

// Write writes a file, which several may do at once, and has it on the disk before it gets
// its name. write has to be done with the file when it returns.
func Write(name string, write func(*os.File) error) error {
	part, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*"+suffix)
	if err != nil {
		return err
	}
	f := &File{part, name}
	if err := errors.Join(write(part), part.Chmod(0o644), part.Sync()); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Keep()
}

// Keep closes the file and gives it its name, or removes it if it cannot.
func (f *File) Keep() error {
	err := f.Close()
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.File.Name()))
	}
	return err
}

// Discard closes the file and removes it.
func (f *File) Discard() error { return errors.Join(f.Close(), os.Remove(f.File.Name())) }
