#!/bin/sh
# Make a small image of busybox-static (Debian) without a registry: make_image.sh NAME
set -eu
tool=$(command -v podman || command -v docker)
busybox=$(command -v busybox)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/bin" "$root/etc"
cp "$busybox" "$root/bin/busybox"
for name in $("$busybox" --list); do
  [ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
done
echo 'root:x:0:0:root:/:/bin/sh' > "$root/etc/passwd"
echo 'this is the image' > "$root/etc/motd"
tar -C "$root" -c . | "$tool" import -c 'ENV PATH=/bin' -c 'ENV FLAVOUR=busybox' - "$1"
