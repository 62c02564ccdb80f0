# SPDX-License-Identifier: Apache-2.0
# Functions for bare Debian systems in directories, for scripts that source this file. They require root, debootstrap and a
# Debian mirror. The systems have file systems of their own: nothing of this host's /dev, /proc or /sys is mounted there.
# build/debian contains what debootstrap makes, once for each release.

# mount_own ROOT: file systems for a chroot, in this mount namespace only
mount_own() {
  mount -t proc proc "$1/proc"
  mount -t sysfs -o ro sysfs "$1/sys"
  mount -t tmpfs -o mode=755 tmpfs "$1/dev"
  local node
  for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
    # shellcheck disable=SC2086
    mknod -m 666 "$1/dev/${node%% *}" c ${node#* }
  done
  mkdir "$1/dev/shm" "$1/dev/pts"
  mount -t tmpfs tmpfs "$1/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$1/dev/pts"
  ln -s pts/ptmx "$1/dev/ptmx"
  ln -s /proc/self/fd "$1/dev/fd"
  ln -s /proc/self/fd/0 "$1/dev/stdin"
  ln -s /proc/self/fd/1 "$1/dev/stdout"
  ln -s /proc/self/fd/2 "$1/dev/stderr"
}
# inside ROOT COMMAND: runs a command in a chroot with file systems of its own. The namespace and all
# mounts end with the command.
inside() {
  local root=$1
  shift
  export -f mount_own
  unshare --mount --pid --fork bash -c 'mount --make-rprivate / && mount_own "$1" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "${@:3}" chroot "$1" bash -euc "$2"' bash "$root" "$*" \
    $(env | grep -iE '^(https?|ftp|no)_proxy=' || true)
}
# bare_debian RELEASE ROOT: a copy of a bare Debian, bookworm (12) or trixie (13)
bare_debian() {
  local made=build/debian/$1
  mkdir -p build/debian
  if [ ! -d "$made" ]; then
    rm -rf --one-file-system "$made.new"
    debootstrap --variant=minbase --include=ca-certificates "$1" "$made.new" >"$made.log" || { tail "$made.log"; return 1; }
    mv "$made.new" "$made"
  fi
  rm -rf --one-file-system "$2"
  cp -a "$made" "$2"
  cp /etc/resolv.conf /etc/hosts "$2/etc/"
  cp /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
  inside "$2" "apt-get update -qq >/dev/null"
}
