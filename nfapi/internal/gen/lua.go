package main

func (l *layout) lua(types []tlvType) string { return dissector }
