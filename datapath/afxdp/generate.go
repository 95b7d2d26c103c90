package afxdp

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package afxdp claim ../../bpf/upf/afxdp.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package afxdp transmit ../../bpf/upf/afxdp_send.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
