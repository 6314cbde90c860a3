/* The guest of iri/libvirt/host/kvm_probe.py: enters long mode with paging, as every kernel does, and writes a line to the
 * serial port. A boot sector, loaded at 0x7c00. tests/iri/libvirt/host assembles it and compares. */
        .code16
        .global start
start:  cli
        xorw    %ax, %ax
        movw    %ax, %ds
        movw    %ax, %es
        cld
        movl    $0x1000, %edi           /* tables of pages: three, at 0x1000, 0x2000, 0x3000 */
        movl    %edi, %cr3
        xorl    %eax, %eax
        movl    $0xc00, %ecx
        rep     stosl
        movw    $0x2003, 0x1000
        movw    $0x3003, 0x2000
        movw    $0x0083, 0x3000         /* the first two MiB stand where they are */
        movl    %cr4, %eax
        orb     $0x20, %al              /* physical address extension */
        movl    %eax, %cr4
        movl    $0xc0000080, %ecx
        rdmsr
        orb     $0x01, %ah              /* long mode */
        wrmsr
        lgdt    table
        movl    %cr0, %eax
        orl     $0x80000001, %eax       /* paging, protection */
        movl    %eax, %cr0
        ljmp    $0x08, $long
        .code64
long:   leaq    message(%rip), %rsi
        movw    $0x3f8, %dx
next:   lodsb
        testb   %al, %al
        jz      end
        outb    %al, %dx
        jmp     next
end:    hlt
        jmp     end
        .balign 8
gdt:    .quad   0
        .quad   0x00209a0000000000      /* code, 64 bits */
table:  .word   . - gdt - 1
        .long   gdt
message: .asciz "GITVIRT-PROOF\r\n"
