package port

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package port redirect ../../bpf/p4switch/port.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
