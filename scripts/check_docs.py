"""Fails when a page links to nothing, or shows code of an example that is not in it.

README has the whole of one example. A block that opens with ```cpp examples/NAME.cpp
must stand in that file, line for line; the same with ```python.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = "examples/hello.cpp"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)
SNIPPET = re.compile(r"^```(?:cpp|python) (examples/\S+)\n(.*?)^```$", re.M | re.S)


def broken_links(page: pathlib.Path) -> list[str]:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    return [
        f"{page.relative_to(ROOT)}: links to {target}, which is not there"
        for target in local
        if not (page.parent / target).exists()
    ]


def differing_example() -> list[str]:
    block = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    example = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    if block is not None and block[1] == example:
        return []
    return [f"README.md: its example is not what stands in {EXAMPLE}"]


def strange_snippets(page: pathlib.Path) -> list[str]:
    faults = []
    for name, block in SNIPPET.findall(page.read_text(encoding="utf-8")):
        example = ROOT / name
        text = example.read_text(encoding="utf-8") if example.exists() else ""
        if "\n" + block not in "\n" + text:
            faults.append(f"{page.relative_to(ROOT)}: not in {name}: {block.splitlines()[0]} ...")
    return faults


def main() -> int:
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pages = [ROOT / name for name in listed.split() if (ROOT / name).exists()]
    faults = differing_example()
    for page in pages:
        faults += broken_links(page) + strange_snippets(page)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
