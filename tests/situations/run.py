#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command `gantry` in situations: trees of files, variables and users, as *.yaml beside this file describe them.

    tests/situations/run.py PREFIX OUT [--against DIR] [--libraries BUILD] [NAME...]

PREFIX      a build tree or an installation with bin/gantry and libexec/gantry
OUT         a directory; one text file for each situation: each command, its output and exit status
--against   compares OUT with another such directory, prints the differences, and exits with status 1 if there is one
--libraries the build tree whose plugins the situations copy; default: PREFIX. A comparison of two commands uses one.

Every situation has a root directory of its own, a file system in memory in a mount namespace of its own, so that
/etc/gantry, /run/gantry, /usr/share/gantry and /usr/local/share/gantry are those of the situation. It contains the
libraries, /proc and /dev of the host, the command in /opt/gantry, and nothing else. Only root can run this.

README.md describes the format of the situations.
"""
import argparse
import ctypes
import difflib
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
OWN_PREFIX = "/opt/gantry"
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x1000, 0x4000, 1 << 18, 2
LIMIT_S = 60
DEFAULT_COMMANDS = ["plugins list", "plugins doctor", "plugins explain test.fake"]
# as tests/support/manifest_builder.hpp
DEFAULT_MANIFEST = {
    "schema": "1.0",
    "id": "test.fake",
    "version": "1.0.0",
    "library": "libfake.so",
    "abi": {"major": 1, "min_minor": 0, "max_minor": 0},
    "keys": ["fake"],
    "devices": ["fake_device"],
}

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, kind, flags, data=None):
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, data and data.encode()), "mount " + target)


class Minisign:
    """Keys and signatures in the format of minisign; different names are different keys. tests/support/minisign_signer.hpp"""

    def __init__(self, name):
        self.sodium = ctypes.CDLL("libsodium.so.23")
        seed = self.hash(name.encode(), 32)
        self.number = seed[:8]
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_seed_keypair(public, secret, seed)
        self.public, self.secret = public.raw, secret.raw

    def hash(self, data, size):
        out = ctypes.create_string_buffer(size)
        self.sodium.crypto_generichash(out, ctypes.c_size_t(size), data, ctypes.c_ulonglong(len(data)), None,
                                       ctypes.c_size_t(0))
        return out.raw

    def raw(self, message):
        out = ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_detached(out, None, message, ctypes.c_ulonglong(len(message)), self.secret)
        return out.raw

    @staticmethod
    def base64(data):
        import base64
        return base64.b64encode(data).decode()

    def public_key(self):
        return self.base64(b"Ed" + self.number + self.public)

    def sign(self, content):
        comment = "timestamp:1700000000\tfile:test"
        signature = self.raw(self.hash(content, 64))
        return (f"untrusted comment: signature of a test\n{self.base64(b'ED' + self.number + signature)}\n"
                f"trusted comment: {comment}\n{self.base64(self.raw(signature + comment.encode()))}\n")


def with_note(library, changes):
    """Changes members of the note in a plugin's library: sdk/include/gantry/note.h."""
    owner, size = b"GANTRY\0", 272
    for at in [m.start() for m in re.finditer(re.escape(owner), library)]:
        if at < 12 or struct.unpack_from("<II", library, at - 12) != (len(owner), size):
            continue
        content = at + (len(owner) + 3) // 4 * 4
        note = bytearray(library[content:content + size])
        for name, value in changes.items():
            if name in ("sanitizer", "isa"):
                struct.pack_into("<I", note, {"sanitizer": 24, "isa": 28}[name], int(value))
            else:
                offset, length = {"id": (64, 72), "version": (136, 136)}[name]
                note[offset:offset + length] = value.encode().ljust(length, b"\0")
        return library[:content] + bytes(note) + library[content + size:]
    raise ValueError("library without a note")


def age_verdicts(root, seconds):
    """Sets the times of the kept verdicts of probes back. core/plugins/probe/probe_cache.cpp, cxx/gantry/disk_cache.hpp"""
    mark, changed = b"GTRYCCH2", 0
    for directory, _, names in os.walk(root):
        if os.path.basename(directory) != "probe":
            continue
        for path in [os.path.join(directory, name) for name in names]:
            data = bytearray(open(path, "rb").read())
            if data[-16:-8] != mark:
                continue
            now = int(time.time())
            times = [i for i in range(len(data) - 16) if now - 10**8 <= struct.unpack_from("<q", data, i)[0] <= now + 1]
            if len(times) != 1:
                raise ValueError(f"{path} has {len(times)} numbers that may be its time")
            struct.pack_into("<q", data, times[0], struct.unpack_from("<q", data, times[0])[0] - seconds)
            struct.pack_into("<Q", data, len(data) - 8, fnv(data[:-8]))
            with open(path, "wb") as out:
                out.write(data)
            changed += 1
    if changed == 0:
        raise ValueError("no verdict is kept")


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


class Situation:

    def __init__(self, name, data, prefix, build, root):
        unknown = set(data) - {"files", "modes", "owners", "env", "options", "user", "run", "also", "without"}
        if unknown:
            raise ValueError(f"{name}: unknown keys {unknown}")
        self.name, self.data, self.prefix, self.build, self.root = name, data, prefix, build, root
        self.user = data.get("user", 0)

    def run(self):
        mount("none", self.root, "tmpfs", 0, "mode=755")
        try:
            self.make_base()
            self.change(self.data)
            texts = []
            for step in self.data.get("run", DEFAULT_COMMANDS) + self.data.get("also", []):
                if isinstance(step, str):
                    texts.append(self.execute(step))
                else:
                    texts.append("# " + json.dumps(step, sort_keys=True) + "\n")
                    self.change(step)
            return self.normal("\n".join(texts))
        finally:
            check(libc.umount2(self.root.encode(), MNT_DETACH), "umount")

    # The root directory without the situation.
    def make_base(self):
        for directory in ["etc", "run", "tmp", "usr/share", "usr/local", "root", "home/user", "opt/gantry"]:
            os.makedirs(self.at("/" + directory))
        os.chmod(self.at("/root"), 0o700)
        os.chmod(self.at("/tmp"), 0o1777)
        os.chown(self.at("/home/user"), 1000, 1000)
        binds = [("/usr/lib", "/usr/lib"), ("/usr/lib64", "/usr/lib64"), ("/proc", "/proc"), ("/dev", "/dev")]
        for part in sorted({"bin", "libexec"} - set(self.data.get("without", []))):
            binds.append((os.path.join(self.prefix, part), f"{OWN_PREFIX}/{part}"))
        for source, target in binds:
            os.makedirs(self.at(target))
            mount(source, self.at(target), "none", MS_BIND | MS_REC)
        os.symlink("usr/lib", self.at("/lib"))
        os.symlink("usr/lib64", self.at("/lib64"))
        shutil.copy("/etc/ld.so.cache", self.at("/etc/ld.so.cache"))

    def at(self, path):
        assert path.startswith("/"), path
        return self.root + path

    def change(self, step):
        if set(step) & {"files", "modes", "owners", "remove", "age"} == set():
            if step is not self.data:
                raise ValueError(f"{self.name}: step {step} does nothing")
        for path in step.get("remove", []):
            os.remove(self.at(path))
        for path, value in step.get("files", {}).items():
            self.write(path, value)
        for path, owner in step.get("owners", {}).items():
            os.chown(self.at(path), owner, owner, follow_symlinks=False)
        for path, mode in step.get("modes", {}).items():
            os.chmod(self.at(path), int(str(mode), 8))
        if "age" in step:
            age_verdicts(self.root, step["age"])

    # A file, a link, a directory or a plugin.
    def write(self, path, value):
        if isinstance(value, dict):
            return self.write_plugin(path, dict(value))
        if path.startswith("/home/user/"):
            self.make_parents(path, 1000)
        target = self.at(path)
        os.makedirs(os.path.dirname(target.rstrip("/")), exist_ok=True)
        if "\n" in value:
            return self.write_bytes(path, self.expanded(value).encode())
        word, *rest = value.split(" ")
        if word == "link":
            return os.symlink(rest[0], target)
        if word == "hardlink":
            return os.link(self.at(rest[0]), target)
        if word == "empty":
            return self.write_bytes(path, b"")
        if word == "directory":
            return os.makedirs(target, exist_ok=True)
        if word == "fifo":
            return os.mkfifo(target)
        if word == "plugin":
            return shutil.copytree(os.path.join(self.build, "share/gantry/plugins.d", rest[0]), target)
        if word == "library":
            return self.write_bytes(path, self.library(rest[0], dict(one.split("=") for one in rest[1:])))
        if word == "build":
            with open(os.path.join(self.build, rest[0]), "rb") as file:
                self.write_bytes(path, file.read())
            return os.chmod(target, 0o755)
        raise ValueError(f"{self.name}: {path}: {value}")

    def make_parents(self, path, owner):
        parts = path.split("/")
        for end in range(4, len(parts)):
            parent = self.at("/".join(parts[:end]))
            if not os.path.exists(parent):
                os.mkdir(parent)
                os.chown(parent, owner, owner)

    def write_bytes(self, path, content):
        target = self.at(path)
        if os.path.lexists(target):
            os.remove(target)
        with open(target, "wb") as file:
            file.write(content)
        if path.startswith("/home/user/"):
            os.chown(target, 1000, 1000)

    def library(self, variant, changes):
        with open(os.path.join(self.build, f"tests/fake_plugins/libfake_{variant}.so"), "rb") as file:
            content = file.read()
        if noted := {name: changes.pop(name) for name in ("id", "version", "sanitizer", "isa") if name in changes}:
            content = with_note(content, noted)
        if "machine" in changes:
            content = content[:18] + struct.pack("<H", int(changes.pop("machine"))) + content[20:]
        if "bytes" in changes:
            content = content[:int(changes.pop("bytes"))]
        assert not changes, changes
        return content

    # "/x/plugins.d/acme/" is a directory with acme.yaml and libfake.so; "/x/plugins.d/acme.yaml" a manifest alone.
    def write_plugin(self, path, fields):
        in_directory = path.endswith("/")
        directory = path if in_directory else os.path.dirname(path) + "/"
        file = directory + os.path.basename(path.rstrip("/")) + ".yaml" if in_directory else path
        if path.startswith("/home/user/"):
            self.make_parents(file, 1000)
        os.makedirs(self.at(directory), exist_ok=True)
        variant = fields.pop("from", "good" if in_directory else None)
        note, signer = fields.pop("note", None), fields.pop("signed", None)
        manifest = {**DEFAULT_MANIFEST, **fields}
        if variant:
            changes = {} if note is False else {"id": manifest["id"], "version": manifest["version"], **(note or {})}
            self.write_bytes(directory + "libfake.so", self.library(variant, changes))
        if manifest.get("sha256") == "right":
            with open(self.at(os.path.join(directory, manifest["library"])), "rb") as library:
                manifest["sha256"] = hashlib.sha256(library.read()).hexdigest()
        for table, name in [("keys", "key"), ("devices", "name")]:
            if manifest.get(table):
                manifest[table] = [{name: one} if isinstance(one, str) else one for one in manifest[table]]
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in manifest.items() if value is not None)
        self.write_bytes(file, text.encode())
        if signer:
            self.write_bytes(file + ".minisig", Minisign(signer).sign(text.encode()).encode())

    # {sha256 /file} and {public_key name}
    def expanded(self, text):

        def digest(match):
            with open(self.at(match.group(1)), "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()

        text = re.sub(r"\{sha256 (/[^}]*)\}", digest, text)
        return re.sub(r"\{public_key ([^}]*)\}", lambda match: Minisign(match.group(1)).public_key(), text)

    def execute(self, command):
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C", "HOME": "/root" if self.user == 0 else "/home/user"}
        environment.update(self.data.get("env", {}))
        words = shlex.split(self.data.get("options", "")) + shlex.split(command)

        who = [f"--userspec={self.user}:{self.user}", "--groups="] if self.user != 0 else []
        ended = subprocess.run(["/usr/sbin/chroot"] + who + [self.root, OWN_PREFIX + "/bin/gantry"] + words, env=environment,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        text = "$ gantry " + " ".join(words) + "\n" + ended.stdout.decode(errors="backslashreplace")
        if ended.stderr:
            text += "-- stderr\n" + ended.stderr.decode(errors="backslashreplace")
        return text + f"-- exit {ended.returncode}\n"

    # What depends on the machine, the time and the build.
    def normal(self, text):
        digests = {}
        for directory, _, names in os.walk(self.root):
            if re.match(r"/(proc|dev|usr/lib|usr/lib64|opt/gantry/(bin|libexec))(/|$)", directory[len(self.root):]):
                continue
            for path in sorted(os.path.join(directory, name) for name in names):
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        digests.setdefault(hashlib.sha256(file.read()).hexdigest(), path[len(self.root):])
        text = re.sub(r"\b[0-9a-f]{64}\b",
                      lambda m: f"<sha256 of {digests[m.group(0)]}>" if m.group(0) in digests else
                      m.group(0) if len(set(m.group(0))) == 1 else "<sha256>", text)
        text = re.sub(r"(schema \d+\.\d+  )\S+ \S+  \S+(  uid)", r"\1<libc>  <isa>\2", text)
        text = re.sub(r"(?<!not return within )\b\d+ ms\b", "<n> ms", text)
        text = re.sub(r"(  (?:multiprocessors|l2_cache_bytes|\w+_global_memory_bytes)  )\d+", r"\1<n>", text)
        text = re.sub(r"(\"(?:elapsed_ms|cached_s)\": )\d+", r"\1<n>", text)
        text = re.sub(r"\b(this was found |probed again in )\d+ s\b", r"\1<n> s", text)
        text = re.sub(r"\(cached \d+ (s|min|h|d)\)", "(cached <n> s)", text)
        text = re.sub(r"\b(at address )0x[0-9a-f]+", r"\1<address>", text)
        return text.replace(platform.machine(), "<machine>")


def read_situations():
    all_situations = {}
    for name in sorted(os.listdir(HERE)):
        if not name.endswith(".yaml"):
            continue
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            for key, data in yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items():
                assert key not in all_situations, key
                all_situations[key] = data
    return all_situations


def compare(out, other):
    names = sorted(set(os.listdir(out)) | set(os.listdir(other)))
    different = 0
    for name in names:
        texts = []
        for directory in [other, out]:
            path = os.path.join(directory, name)
            texts.append(open(path, encoding="utf-8").readlines() if os.path.exists(path) else [])
        if texts[0] != texts[1]:
            different += 1
            sys.stdout.writelines(difflib.unified_diff(*texts, os.path.join(other, name), os.path.join(out, name)))
    print(f"{len(names)} situations, {different} differ")
    return different == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix")
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--against")
    parser.add_argument("--libraries")
    options = parser.parse_args()
    prefix, out = os.path.abspath(options.prefix), os.path.abspath(options.out)
    build = os.path.abspath(options.libraries or prefix)
    situations = read_situations()
    for name in options.names:
        if name not in situations:
            parser.error(f"no situation is named {name}")
    os.makedirs(out, exist_ok=True)
    os.umask(0o022)
    check(libc.unshare(CLONE_NEWNS), "unshare: only root can run this")
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    with tempfile.TemporaryDirectory(prefix="situations.") as root:
        for name, data in situations.items():
            if options.names and name not in options.names:
                continue
            text = Situation(name, data, prefix, build, root).run()
            with open(os.path.join(out, name + ".txt"), "w", encoding="utf-8") as file:
                file.write(text)
    if options.against:
        sys.exit(0 if compare(out, os.path.abspath(options.against)) else 1)


if __name__ == "__main__":
    main()
