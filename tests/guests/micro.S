# The micro guest: a kernel image of 1.5 KiB that QEMU loads directly, and that never leaves real mode. For machine q35.
# Prints MICRO-READY on the serial port and echoes what it reads there. Keys: Q powers off, R resets, T crashes the processor.
# It honours the power button, and lets go of devices that the host wants to unplug.
.code16
.globl _start
.org 0x1f1
  .byte 1                                      # sectors of setup code behind the first
.org 0x1fe
  .word 0xaa55
_start:
  jmp begin
  .ascii "HdrS"
  .word 0x0202                                 # boot protocol: the command line is pointed to at 0x228
  .long 0
  .word 0, 0
  .byte 0xff, 1                                # loader, loaded high
.org 0x268                                     # the header may be filled in as far as that
begin:
  cld
  mov $0x602, %dx; mov $0x0100, %ax; outw %ax, %dx     # enable the power button
  mov $0x600, %dx; mov $0x0100, %ax; outw %ax, %dx     # and forget earlier presses
  mov $ready, %si; call puts
  sti
sleep:
  hlt                                          # the BIOS's timer wakes us 18 times a second
  mov $0x600, %dx; inw %dx, %ax; test $0x01, %ah; jnz button
  mov $63, %cx
eject:                                         # each bus: what the host wants out, goes
  movzwl %cx, %eax; mov $0xcd0, %dx; outl %eax, %dx
  mov $0xcc4, %dx; inl %dx, %eax; test %eax, %eax; jz nothing
  mov $0xcc8, %dx; outl %eax, %dx
nothing:
  dec %cx; jns eject
next:
  mov $0x3fd, %dx; inb %dx, %al; test $1, %al; jz sleep
  mov $0x3f8, %dx; inb %dx, %al
  cmp $'Q', %al; je off
  cmp $'R', %al; je reset
  cmp $'T', %al; je crash
  call putc; jmp next
button:
  mov $pressed, %si; call puts
off:
  mov $0x604, %dx; mov $0x2000, %ax; outw %ax, %dx; jmp off
reset:
  mov $0xfe, %al; out %al, $0x64; hlt; jmp reset
crash:
  lidt nowhere; int3
puts:
  lodsb; test %al, %al; jz 1f; call putc; jmp puts
1: ret
putc:
  push %dx; push %ax
2: mov $0x3fd, %dx; inb %dx, %al; test $0x20, %al; jz 2b
  pop %ax; mov $0x3f8, %dx; outb %al, %dx; pop %dx; ret
nowhere: .word 0; .long 0
ready: .asciz "MICRO-READY\r\n"
pressed: .asciz "MICRO-BUTTON\r\n"
.org 1535
  .byte 0
