"""The functions of all system contracts as tables, for the page docs/system-contracts.md.

`python -m web3sim.system_contracts.table` prints them.
"""

from collections.abc import Iterable, Mapping

from web3sim.system_contracts.contracts import SERVICES, Service
from web3sim.system_contracts.function_signatures import STRUCTS, selector_of
from web3sim.system_contracts.functions import Function

_NAMES = {
    0x167: ("Token service", "A token at its own address"),
    0x168: ("Exchange rate", ""),
    0x169: ("Pseudorandom seed", ""),
    0x16A: ("Account service", "An account at its own address"),
    0x16B: ("Schedule service", "A schedule at its own address"),
}
_REDIRECTS = {
    selector_of(signature): signature
    for signature in (
        "redirectForToken(address,bytes)",
        "redirectForAccount(address,bytes)",
        "redirectForScheduleTxn(address,bytes)",
    )
}


def as_markdown() -> str:
    sections = []
    for address, service in SERVICES.items():
        number = int.from_bytes(address)
        if number not in _NAMES:
            continue
        name, proxy_name = _NAMES[number]
        sections += _section(f"{name}, `{number:#x}`", _own(service))
        if service.proxied is not None:
            sections += _section(proxy_name, _rows(service.proxy_functions))
    structs = [f"| `{name}` | `{members}` |" for name, members in STRUCTS.items()]
    sections += ["## Structs", "", "| Name above | Members |", "|---|---|", *structs]
    return "\n".join(sections) + "\n"


def _section(title: str, rows: Iterable[str]) -> list[str]:
    heading = "| Function | Selector | Returns | Kind | Gas | Refused |"
    return [f"## {title}", "", heading, "|---|---|---|---|---|---|", *sorted(rows), ""]


def _own(service: Service) -> Iterable[str]:
    yield from _rows(service.functions)
    if service.redirect is not None:
        yield _row(
            _REDIRECTS[service.redirect],
            service.redirect,
            "what the function in it does",
            *("as that",) * 3,
        )


def _rows(functions: Mapping[bytes, Function]) -> Iterable[str]:
    for selector, function in functions.items():
        kind, refused = "write" if function.writes else "view", function.rejection.value
        if not function.static:
            kind += ", not static"
        elif not function.writes and function.static_rejection is not function.rejection:
            refused += f"; in a static frame {function.static_rejection.value}"
        yield _row(function.signature, selector, f"`{function.returns}`", kind, function.gas.text, refused)


def _row(signature: str, selector: bytes, returns: str, *others: str) -> str:
    return f"| {' | '.join((f'`{signature}`', f'`0x{selector.hex()}`', returns, *others))} |"


if __name__ == "__main__":
    print(as_markdown(), end="")
