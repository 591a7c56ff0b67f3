"""Which device an expression names, however its text is put together."""

from __future__ import annotations

import ast
import re

from mpslint.core.knowledge import platform_data

NAMED_DEVICE = re.compile(r"(?:device|gpu|cuda)(?:_?(?:name|type|id|str))?(?:['\"]\])?$", re.IGNORECASE)
"""A name for the device that is used where there is CUDA."""


def names_device(node: ast.expr, device: str) -> bool:
    """Return whether an expression is this device: its name, or `torch.device(name)`."""
    if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in platform_data("cuda")["devices"]["classes"]:
        node = node.args[0]
    if isinstance(node, ast.IfExp):  # one of two of its kind: `"cuda:1" if n > 1 else "cuda:0"`
        return names_device(node.body, device) and names_device(node.orelse, device)
    node = _beginning(node)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split(":")[0] == device


def _beginning(node: ast.expr) -> ast.expr:
    """Return the constant that a composed text begins with: `f"cuda:{i}"`, `"cuda:%d" % i`, `"cuda:" + str(i)`, `"cuda:{}".format(i)`."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return node.values[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.Add)):
        return node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return node.func.value
    return node


def is_cpu(node: ast.expr) -> bool:
    return names_device(node, "cpu")


def is_cuda(node: ast.expr) -> bool:
    """Return whether an expression is a device of CUDA, by name or by number, or several (`0`, `"0"`, `"0,1"`, `[0, 1]`)."""
    if names_device(node, "cuda"):
        return True
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return False
    values = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return bool(values) and not isinstance(value, bool) and all(str(one).isdigit() for one in values)


def is_named_device(node: ast.expr) -> bool:
    """Return whether an expression is a device that the program or its user names: `args.device`, `config["device"]`, `gpu`."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and NAMED_DEVICE.search(ast.unparse(node)) is not None
