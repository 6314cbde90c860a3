#!/bin/busybox sh
# The first process of a guest of the demo: a machine small enough to boot within seconds, with a shell on its serial console.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ TERM=dumb
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
exec >/dev/console 2>&1 </dev/console
stty -onlcr rows 24 columns 80
while read -r module; do insmod "/modules/$module.ko" 2>/dev/null; done </modules.order

# Its name comes as cloud-init would get it: from the disk with first-boot data.
# Its controller is there at once, and there for nothing else; the drive is found when a busy host lets us look.
waited=0
while grep -qs 0x0008 /sys/bus/virtio/devices/*/device && [ ! -b /dev/sr0 ] && [ $waited -lt 1200 ]; do
  usleep 50000; waited=$((waited + 1))
done
if mount -o ro -t iso9660 /dev/sr0 /seed 2>/dev/null; then
  hostname "$(sed -n 's/^local-hostname: "\(.*\)"$/\1/p' /seed/meta-data)"
  umount /seed
fi
{
  echo "Linux $(uname -r), $(grep -c ^processor /proc/cpuinfo) cpu, $(free -m | sed -n 's/^Mem: *\([0-9]*\).*/\1/p') MiB"
  for device in /sys/block/vd*; do
    [ -e "$device/serial" ] || continue
    begins=$(dd if="/dev/$(basename "$device")" bs=64 count=1 2>/dev/null | strings | head -n 1)
    echo "disk $(cat "$device/serial"), $(($(cat "$device/size") / 2048)) MiB: ${begins:-empty}"
  done
} >/etc/issue
echo; cat /etc/issue
ip link set lo up
for device in /sys/class/net/eth*; do
  name=$(basename "$device")
  [ -e "$device/address" ] || continue
  ip link set "$name" up
  udhcpc -b -i "$name" -t 30 -T 1 -s /leased.sh >/dev/null 2>&1 &
done
acpid -l /var/log/acpid
echo "$(hostname): up"
export PS1="$(hostname):\w# "
while :; do setsid cttyhack sh -i; done
