"""Firmware libraries: one object, one C file, one header, one arena; no IREE runtime, no heap."""
