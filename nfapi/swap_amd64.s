#include "textflag.h"

// For VPSHUFB: octets 3 2 1 0, 7 6 5 4, ... of each half.
DATA reverse<>+0(SB)/8, $0x0405060700010203
DATA reverse<>+8(SB)/8, $0x0c0d0e0f08090a0b
DATA reverse<>+16(SB)/8, $0x0405060700010203
DATA reverse<>+24(SB)/8, $0x0c0d0e0f08090a0b
GLOBL reverse<>(SB), RODATA|NOPTR, $32

// func swapWordsAVX2(dst, src *byte, n int)
TEXT ·swapWordsAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VMOVDQU reverse<>(SB), Y0

four:
	CMPQ CX, $128
	JB   one
	VMOVDQU (SI), Y1
	VMOVDQU 32(SI), Y2
	VMOVDQU 64(SI), Y3
	VMOVDQU 96(SI), Y4
	VPSHUFB Y0, Y1, Y1
	VPSHUFB Y0, Y2, Y2
	VPSHUFB Y0, Y3, Y3
	VPSHUFB Y0, Y4, Y4
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, 32(DI)
	VMOVDQU Y3, 64(DI)
	VMOVDQU Y4, 96(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $128, CX
	JMP  four

one:
	CMPQ CX, $32
	JB   done
	VMOVDQU (SI), Y1
	VPSHUFB Y0, Y1, Y1
	VMOVDQU Y1, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $32, CX
	JMP  one

done:
	VZEROUPPER
	RET
