package xdp

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp -type exception -type copy -type urr -type meter -type urr_event -type route_key -type neighbour_key -type ether_entry -type station_key -type station upf ../../bpf/upf/upf_xdp.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp spread ../../bpf/upf/spread.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp sent ../../bpf/upf/sent.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp -type address vlan ../../bpf/upf/vlan.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp -type trace_head -type trace_want traced ../../bpf/upf/upf_traced.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp -no-global-types skb ../../bpf/upf/upf_tc.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package xdp -no-global-types tracedSkb ../../bpf/upf/upf_tc_traced.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
