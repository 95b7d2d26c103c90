package n4

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package n4 -type n4_head tap ../../bpf/probe/probe_n4.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
