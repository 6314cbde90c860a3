#!/bin/busybox sh
# The first process of a Linux guest: says on the serial console what it was given, and whenever that changes.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
exec >/dev/ttyS0 2>&1 </dev/ttyS0
stty -F /dev/ttyS0 -onlcr
for module in $(cat /modules.order); do insmod "/modules/$module.ko" 2>/dev/null; done

# The source of this guest's first-boot data is whatever disk has the label that cloud-init looks for.
# Its controller is there at once, and there for nothing else; the drive is found when the host lets us look.
waited=0
while grep -qs 0x0008 /sys/bus/virtio/devices/*/device && [ ! -b /dev/sr0 ] && [ $waited -lt 1200 ]; do
  usleep 50000; waited=$((waited + 1))
done
label=$(dd if=/dev/sr0 bs=1 skip=32808 count=6 2>/dev/null)
if [ "$label" = cidata ] && mount -o ro -t iso9660 /dev/sr0 /seed; then
  hostname "$(sed -n 's/^local-hostname: "\(.*\)"$/\1/p' /seed/meta-data)"
  echo "GUEST hostname $(hostname)"
  echo "GUEST instance $(sed -n 's/^instance-id: "\(.*\)"$/\1/p' /seed/meta-data)"
  echo "GUEST user-data $(sha256sum </seed/user-data | cut -d' ' -f1)"
fi
ignition=/sys/firmware/qemu_fw_cfg/by_name/opt/com.coreos/config/raw
[ -e $ignition ] && echo "GUEST ignition $(sha256sum <$ignition | cut -d' ' -f1)"
if mount -t efivarfs efivarfs /sys/firmware/efi/efivars 2>/dev/null; then
  for variable in /sys/firmware/efi/efivars/GitvirtTest-*; do
    [ -e "$variable" ] && echo "GUEST efi $(basename "$variable") $(tail -c +5 "$variable")"
  done
fi

ip link set lo up
dressed() {
  for device in /sys/class/net/eth*; do
    name=$(basename "$device")
    case " $met " in *" $name "*) continue ;; esac
    [ -e "$device/address" ] || continue
    met="$met $name"
    echo "GUEST interface $(cat "$device/address")"
    ip link set "$name" up
    udhcpc -i "$name" -q -n -t 300 -T 1 -s /leased.sh >/dev/null 2>&1 &
  done
}
disks() {
  for device in /sys/block/vd*; do
    [ -e "$device/serial" ] && echo "$(cat "$device/serial")=$(($(cat "$device/size") * 512))"
  done | sort | tr '\n' ' '
}
acpid -l /var/log/acpid
# It looks often while things change, and seldom once they rest: each look is work for the host.
met= seen= rounds=0
dressed
echo "GUEST up"
while :; do
  dressed
  now=$(disks)
  [ "$now" = "$seen" ] || { echo "GUEST disks $now"; rounds=0; }
  seen=$now
  rounds=$((rounds + 1))
  if [ $rounds -lt 50 ]; then usleep 200000; else sleep 1; fi
done
