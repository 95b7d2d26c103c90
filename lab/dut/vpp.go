package dut

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// upgPlugin is the file of the UPF plugin.
const upgPlugin = "upf_plugin.so"

// upgVersion reads the versions of VPP and of the UPF plugin from their files: VPP says
// its own by the CLI alone, once it runs. A VPP without that plugin is no UPG-VPP.
func upgVersion(path string) (string, error) {
	program, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	text, err := section(program, ".rodata")
	if err != nil {
		return "", fmt.Errorf("%s is no program of VPP: %w", path, err)
	}
	said := vppVersion.FindSubmatch(text)
	if said == nil {
		return "", fmt.Errorf("%s is no program of VPP: it has no version", path)
	}
	plugin, err := findPlugin(program)
	if err != nil {
		return "", err
	}
	registration, err := section(plugin, ".vlib_plugin_registration")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s with VPP %s", registered(registration), said[1]), nil
}

// vppVersion is in what "show version" prints. Source: VPP 24.02, src/vpp/app/version.c.
var vppVersion = regexp.MustCompile(`vpp v([!-~]+) built by `)

// findPlugin returns the path of the plugin, from where VPP loads it: beside its bin
// directory. Source: VPP 24.02, src/vpp/vnet/main.c, vpp_find_plugin_path.
func findPlugin(program string) (string, error) {
	prefix := filepath.Dir(filepath.Dir(program))
	var tried []string
	for _, pattern := range []string{"lib/*/vpp_plugins", "lib/vpp_plugins", "lib64/vpp_plugins"} {
		pattern = filepath.Join(prefix, pattern)
		found, _ := filepath.Glob(filepath.Join(pattern, upgPlugin))
		if len(found) > 0 {
			return found[0], nil
		}
		tried = append(tried, pattern)
	}
	return "", fmt.Errorf("%w: no %s in %s: %s is another VPP", ErrNotInstalled, upgPlugin, strings.Join(tried, ", "), program)
}

// registered is the version in a plugin's registration, which begins with an octet of
// flags. Source: VPP 24.02, src/vlib/unix/plugin.h, vlib_plugin_registration_t.
func registered(registration []byte) string {
	const most = 64
	version := registration[min(1, len(registration)):min(1+most, len(registration))]
	version, _, _ = bytes.Cut(version, []byte{0})
	return string(version)
}

// section returns the contents of a section of an ELF file.
func section(path, name string) ([]byte, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s := file.Section(name)
	if s == nil {
		return nil, errors.New(path + " has no " + name)
	}
	const most = 64 << 20
	if s.Size > most {
		return nil, fmt.Errorf("%s of %s has %d octets: %w", name, path, s.Size, os.ErrInvalid)
	}
	return s.Data()
}
