package dut

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// object writes an ELF file with one section beside that of the names.
func object(t *testing.T, path, section string, contents []byte) {
	t.Helper()
	names := "\x00" + section + "\x00.shstrtab\x00"
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Shnum: 3, Shstrndx: 2}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	header.Ehsize, header.Shentsize = uint16(binary.Size(header)), uint16(binary.Size(elf.Section64{}))
	at := uint64(header.Ehsize)
	header.Shoff = at + uint64(len(contents)+len(names))
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: at, Size: uint64(len(contents))},
		{Name: uint32(len(section) + 2), Type: uint32(elf.SHT_STRTAB), Off: at + uint64(len(contents)), Size: uint64(len(names))},
	}
	var b bytes.Buffer
	for _, part := range []any{header, contents, []byte(names), sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
}

const vppSays = "x\x00vpp v24.02.0-42~g041f4617aad built by root on host at 2024-05-06\x00y"

// TestUPGVersion reads versions as VPP 24.02 and the plugin have them in their files,
// installed as packages do and elsewhere, and knows a VPP that is no UPG-VPP.
func TestUPGVersion(t *testing.T) {
	registration := append(append([]byte{2}, "120bc8f"...), make([]byte, 200)...)
	for _, tc := range []struct {
		name, program, plugin string
		text                  string
		registration          []byte
		want, err             string
		missing               bool
	}{
		{name: "packages", program: "usr/bin/vpp", plugin: "usr/lib/x86_64-linux-gnu/vpp_plugins/upf_plugin.so", want: "120bc8f with VPP 24.02.0-42~g041f4617aad"},
		{name: "no multiarch", program: "opt/bin/vpp", plugin: "opt/lib/vpp_plugins/upf_plugin.so", want: "120bc8f with VPP 24.02.0-42~g041f4617aad"},
		{name: "another VPP", program: "bin/vpp", plugin: "lib/vpp_plugins/ping_plugin.so", err: "is another VPP", missing: true},
		{name: "another program", program: "bin/vpp", plugin: "lib/vpp_plugins/upf_plugin.so", text: "vpp", err: "it has no version"},
		{name: "no version", program: "bin/vpp", plugin: "lib/vpp_plugins/upf_plugin.so", registration: []byte{0}, want: " with VPP 24.02.0-42~g041f4617aad"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			if tc.text == "" {
				tc.text = vppSays
			}
			if tc.registration == nil {
				tc.registration = registration
			}
			object(t, filepath.Join(root, tc.program), ".rodata", []byte(tc.text))
			object(t, filepath.Join(root, tc.plugin), ".vlib_plugin_registration", tc.registration)
			link := filepath.Join(root, "vpp") // the plugin is beside the file itself
			if err := os.Symlink(filepath.Join(root, tc.program), link); err != nil {
				t.Fatal(err)
			}
			got, err := upgVersion(link)
			if got != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tc.want, tc.err)
			}
			if errors.Is(err, ErrNotInstalled) != tc.missing {
				t.Errorf("%v: not installed: want %v", err, tc.missing)
			}
		})
	}
	if _, err := upgVersion(script(t, "vpp", "exit 1")); err == nil || !strings.Contains(err.Error(), "is no program of VPP: bad magic number") {
		t.Errorf("a script: got %v", err)
	}
}
