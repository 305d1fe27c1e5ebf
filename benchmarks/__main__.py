"""Runs every benchmark beside this file, each in a process of its own: ``python -m benchmarks``.

Names choose some of them: ``python -m benchmarks core``.
"""

import subprocess
import sys
from pathlib import Path


def main(chosen: list[str]) -> int:
    """Run the chosen benchmarks, all if none is named; return how many failed."""
    scripts = {
        path.stem: path
        for path in sorted(Path(__file__).parent.glob("*.py"))
        if not path.stem.startswith("_")
    }
    if unknown := set(chosen) - set(scripts):
        print(f"No benchmark {', '.join(sorted(unknown))}; there are: {', '.join(scripts)}.")
        return 1
    failed = []
    for name in chosen or scripts:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
            failed.append(name)
    if failed:
        print(f"Failed: {', '.join(failed)}.")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
