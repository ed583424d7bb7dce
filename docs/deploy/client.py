#!/usr/bin/env python3
"""A client of a SLVR deployment without Rust: what docs/src/clients.md describes.

    python3 client.py client.toml TASK ROUND inputs.json     submits {"input": [numbers], ...}
    python3 client.py --fetch client.toml TASK ROUND         prints what the round reveals to this client
    python3 client.py --check                                prints the example of the page

It needs Python 3.11 and the packages blake3 and cryptography. It sends the same bytes as `slvrc submit`, and fetches
what `slvrc fetch` does.
"""

import hashlib
import hmac
import http.client
import json
import math
import ssl
import struct
import sys
import tomllib

from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def derive(context, data):
    return blake3(data, derive_key_context=context).digest()


def token(secret, node):
    return hmac.new(secret.encode(), f"slvr node {node}".encode(), "sha256").hexdigest()


def chacha12(key, stream, n):
    """n bytes of ChaCha with twelve rounds: a block counter of 64 bits from 0, and the stream as the nonce."""
    constants = struct.unpack("<4I", b"expand 32-byte k")
    out, block = b"", 0
    while len(out) < n:
        start = [*constants, *struct.unpack("<8I", key), *struct.unpack("<4I", struct.pack("<QQ", block, stream))]
        x = list(start)
        for _ in range(6):
            for a, b, c, d in [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                               (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]:
                for to, add, turn, by in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
                    x[to] = (x[to] + x[add]) & 0xFFFFFFFF
                    y = x[turn] ^ x[to]
                    x[turn] = (y << by | y >> (32 - by)) & 0xFFFFFFFF
        out += struct.pack("<16I", *((p + q) & 0xFFFFFFFF for p, q in zip(x, start)))
        block += 1
    return out[:n]


def encode(declared, values):
    """The words of an input, from the description that a node gives of it."""
    kind, how = next(iter(declared["encoding"].items()))
    if kind == "Fixed":
        lo, hi, shift = how["lo"], how["hi"], how["shift"]
        # Python rounds halves to the even integer, as all encoders do. A coarse word has no room for its upper end.
        most = 2 ** (declared["bits"] - 2 - shift) - 1 if shift else math.inf
        words = [min(round(x * 2.0 ** how["frac"]), most) << shift if lo <= x <= hi else None for x in values]
    elif kind == "Int":
        words = [int(x) if x == int(x) and how["lo"] <= x < how["hi"] else None for x in values]
    else:
        classes = range(how["classes"])
        words = [int(k == x) if x in classes else None for x in values for k in classes]
    if None in words:
        at = words.index(None) * len(values) // len(words)
        raise SystemExit(f"{declared['name']}: the number at {at} (from 0) is outside what the task declares: {how}")
    if len(words) != declared["elements"]:
        raise SystemExit(f"{declared['name']}: {declared['elements']} elements are expected, {len(words)} are there")
    return words


class Words:
    """Elements of an input: words of `bits` bits, or planes of single bits."""

    def __init__(self, declared, values):
        self.index, self.bits, self.planes = declared["index"], declared["bits"], declared["planes"]
        self.values = [v % (1 << self.bits) for v in values]

    def pack(self, values):
        n = len(values)
        if self.planes:
            bits = sum((v >> j & 1) << (j * n + i) for i, v in enumerate(values) for j in range(self.bits))
            return bits.to_bytes((n * self.bits + 7) // 8, "little")
        return b"".join(v.to_bytes(self.bits // 8, "little") for v in values)

    def draw(self, seed, run):
        """The component that a seed expands to."""
        key, n = hashlib.sha256(b"slvr prg 1\0" + seed + run).digest(), len(self.values)
        stream = self.index << 8 | 4
        if self.planes:
            row = (n + 63) // 64 * 8
            raw = chacha12(key, stream, row * self.bits)
            plane = [int.from_bytes(raw[j * row:(j + 1) * row], "little") for j in range(self.bits)]
            return [sum((p >> i & 1) << j for j, p in enumerate(plane)) for i in range(n)]
        size = self.bits // 8
        raw = chacha12(key, stream, size * n)
        return [int.from_bytes(raw[i * size:(i + 1) * size], "little") for i in range(n)]

    def rest(self, a, b):
        """The third component: what is left of the values."""
        if self.planes:
            return [v ^ p ^ q for v, p, q in zip(self.values, a, b)]
        return [(v - p - q) % (1 << self.bits) for v, p, q in zip(self.values, a, b)]


class Submission:
    def __init__(self, secret, task, round_, client, circuit, opening, inputs):
        self.task, self.round, self.client, self.circuit = task, round_, client, bytes.fromhex(circuit)
        self.opening = bytes.fromhex(opening)
        self.submission, self.components = bytes(16), [bytes(32)] * 3
        draw = blake3(key=derive("slvr 1 dealing key of a client", secret))
        draw.update(self.statement())
        for x in inputs:
            wire = x.pack(x.values)
            draw.update(struct.pack("<QQ", x.index, len(wire)) + wire)
        stream = draw.digest(length=16 + 3 * 32 + 2 * 16)
        self.submission, stream = stream[:16], stream[16:]
        salts = [stream[32 * i:32 * i + 32] for i in range(3)]
        seeds = [stream[96:112], stream[112:128]]
        run = derive("slvr 1 dealing of a round", struct.pack("<Q", round_) + task.encode())[:16]
        explicit = b"".join(x.pack(x.rest(x.draw(seeds[0], run), x.draw(seeds[1], run))) for x in inputs)
        self.bodies = [salts[i] + body for i, body in enumerate([*seeds, explicit])]
        context = "slvr 1 component of a submission"
        self.components = [derive(context, bytes([i]) + body) for i, body in enumerate(self.bodies)]
        self.key = Ed25519PrivateKey.from_private_bytes(derive("slvr 1 signing key of a client", secret))

    def statement(self):
        out = b"slvr submission 2\0"
        for text in [self.task.encode(), self.client.encode()]:
            out += struct.pack("<Q", len(text)) + text
        return (out + struct.pack("<Q", self.round) + self.submission + self.circuit + self.opening
                + b"".join(self.components))

    def manifest(self):
        return {
            "task": self.task, "round": self.round, "client": self.client, "submission": self.submission.hex(),
            "circuit": self.circuit.hex(), "opening": self.opening.hex(), "components": [c.hex() for c in self.components],
            "signature": self.key.sign(self.statement()).hex(),
        }

    def part(self, node):
        return self.bodies[node] + self.bodies[(node + 1) % 3]


class Node:
    """A connection to a node, which is known by the hash of its certificate."""

    def __init__(self, config, number):
        own = config["node"][number]
        host, port = own["address"].rsplit(":", 1)
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        trust.minimum_version = ssl.TLSVersion.TLSv1_3
        self.http = http.client.HTTPSConnection(host.strip("[]"), int(port), context=trust, timeout=60)
        self.http.connect()
        shown = hashlib.sha256(self.http.sock.getpeercert(binary_form=True)).hexdigest()
        if shown not in own["certificates"]:
            raise SystemExit(f"node {number} shows a certificate that is not its own")
        self.head = {"Authorization": f"Bearer {token(config['token'], number)}"}

    def ask(self, method, path, body=None, head=()):
        self.http.request(method, path, body, {**self.head, **dict(head)})
        answer = self.http.getresponse()
        found = json.loads(answer.read())
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {found['error']['message']} ({found['error']['code']})")
        return found


def opening(shown, task, round_, circuit):
    """The hash of what the coordinator has signed of a round: what each of the three nodes shows."""
    key, after = shown["key"], shown.get("after")
    if (key["task"], key["round"], shown["circuit"]) != (task, round_, circuit):
        raise SystemExit("the opening is of another round or circuit")
    out = b"slvr opening 1\0" + struct.pack("<Q", len(task.encode())) + task.encode() + struct.pack("<Q", round_)
    out += b"".join(bytes.fromhex(shown[name]) for name in ["circuit", "public", "roll"])
    numbers = [shown[name] for name in ["clients", "minimum", "deadline", "grace"]]
    out += struct.pack("<5Q", *numbers, (1 << 64) - 1 if after is None else after)
    return blake3(out + bytes.fromhex(shown.get("context", ""))).hexdigest()


def submit(file, task, round_, inputs):
    with open(file, "rb") as f:
        config = tomllib.load(f)
    with open(inputs, encoding="utf-8") as f:
        values = json.load(f)
    nodes = [Node(config, i) for i in range(3)]
    known = [n.ask("GET", f"/v1/tasks/{task}/rounds/{round_}/task") for n in nodes]
    if any((t["circuit"], t["inputs"]) != (known[0]["circuit"], known[0]["inputs"]) for t in known):
        raise SystemExit("the nodes have different circuits")
    all_ = [Words(d, encode(d, values[d["name"]])) for d in known[0]["inputs"]]
    circuit = known[0]["circuit"]
    shown = [n.ask("GET", f"/v1/tasks/{task}/rounds/{round_}/opening") for n in nodes]
    hashes = {opening(s, task, round_, circuit) for s in shown}
    if len(hashes) > 1:
        raise SystemExit("the nodes show different openings of the round")
    made = Submission(bytes.fromhex(config["secret"]), task, round_, config["name"], circuit, hashes.pop(), all_)
    path = f"/v1/tasks/{task}/rounds/{round_}/submissions/{made.submission.hex()}"
    for i, node in enumerate(nodes):
        state = node.ask("POST", path, json.dumps(made.manifest()))
        while state["state"] != "complete":
            at = state["offset"]
            piece = made.part(i)[at:at + (1 << 20)]
            state = node.ask("PATCH", path, piece, {"Upload-Offset": str(at)})
        print(f"node {i}: {state['digest']}, the round is {state['phase']}")
        if state["aborted"] is not None:
            raise SystemExit(f"{task}/{round_} was aborted: {state['aborted']}")


def together(told):
    """What is revealed, of what the three nodes tell: the numbers of each output."""
    about = [{**t, "outputs": [{**o, "word": 0, "voucher": 0} for o in t["outputs"]]} for t in told]
    if any(a != about[0] for a in about):
        raise SystemExit("the nodes do not tell of the same")
    numbers = {}
    for pieces in zip(*(t["outputs"] for t in told)):
        declared, bits, planes = pieces[0]["output"], pieces[0]["bits"], pieces[0]["planes"]
        n, words = math.prod(declared["shape"]), [bytes.fromhex(p["word"]) for p in pieces]
        for by, piece in enumerate(pieces):
            hash_ = derive("slvr 2026 voucher of an opened component", words[(by + 1) % 3]).hex()
            if piece.get("voucher", hash_) != hash_:
                raise SystemExit(f"node {by} does not vouch for what node {(by + 1) % 3} says")
        packed = [int.from_bytes(word, "little") for word in words]
        if planes:
            whole = packed[0] ^ packed[1] ^ packed[2]
            elements = [sum((whole >> (j * n + i) & 1) << j for j in range(bits)) for i in range(n)]
        else:
            elements = [sum(p >> (bits * i) for p in packed) % (1 << bits) for i in range(n)]
        ring, out = declared["ring"], []
        for x in elements:
            signed = (x + (1 << (ring - 1))) % (1 << ring) - (1 << (ring - 1))
            out.append(signed / 2 ** declared["frac"] * declared["factor"] / declared["divisor"])
        numbers[declared["name"]] = out
    return numbers


def fetch(file, task, round_):
    with open(file, "rb") as f:
        config = tomllib.load(f)
    path = f"/v1/tasks/{task}/rounds/{round_}/reveals"
    told = [Node(config, i).ask("GET", path) for i in range(3)]
    if (told[0]["task"], told[0]["round"]) != (task, round_):
        raise SystemExit("the nodes tell of another round")
    print(json.dumps(together(told)))


def check():
    secret = bytes(range(32))
    declared = {"index": 0, "bits": 64, "planes": False}
    made = Submission(secret, "t", 1, "a", "00" * 32, "00" * 32, [Words(declared, [1 << 16, -(1 << 15)])])
    public = made.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    print("key", public.hex())
    print("submission", made.submission.hex())
    for i, body in enumerate(made.bodies):
        print(f"salt {i}", body[:32].hex())
        print(f"body {i}", body[32:].hex())
        print(f"component {i}", made.components[i].hex())
    print("signature", made.manifest()["signature"])
    print("token 0", token(secret.hex(), 0))


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    elif len(sys.argv) == 5 and sys.argv[1] == "--fetch":
        fetch(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif len(sys.argv) == 5:
        submit(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        raise SystemExit(__doc__)
