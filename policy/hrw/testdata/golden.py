# SPDX-License-Identifier: Apache-2.0
# Writes golden.txt: python3 golden.py > golden.txt
#
# Scores and orders by the formula of the package comment, in whole numbers and
# decimals of 60 digits: shares nothing with the Go code.
from decimal import Decimal, getcontext

getcontext().prec = 60
MASK = (1 << 64) - 1
WEIGHTS = ["1", "1", "2", "0.5", "1.25", "1", "1024", "3"]


def splitmix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def score(key, seed, weight):
    u = (Decimal(splitmix(key ^ seed) >> 16) + Decimal("0.5")) / (1 << 48)
    return -weight / u.ln()


print("# python3 golden.py > golden.txt")
print("# key, then for each of the nodes seed:weight:score, then their order, best first")
for case in range(200):
    key = splitmix(case * 0x9E3779B97F4A7C15 & MASK)
    nodes = []
    for i in range(1 + case % 12):
        seed = splitmix(key + i + 1 & MASK)
        weight = Decimal(WEIGHTS[(i * 5 + case) % len(WEIGHTS)] if case % 3 else "1")
        nodes.append((seed, weight, score(key, seed, weight)))
    order = sorted(range(len(nodes)), key=lambda i: -nodes[i][2])
    print(f"{key:#018x}", *(f"{s:#018x}:{w}:{x:.20e}" for s, w, x in nodes), *order)
