#!/usr/bin/env python3
"""Lines a file, by folder, against the budgets of CONTRIBUTING.md.

Prints a table; exits with 1 where a file is over the hard limit or a folder
holds too many files.
"""
import collections
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HARD_LINES = 700
FOLDER_FILES = 45  # headers, sources and tests together


def tracked_sources():
    listed = subprocess.run(
        ["git", "ls-files", "*.h", "*.cpp", "*.py"],
        cwd=ROOT, check=True, capture_output=True, text=True)
    return [pathlib.Path(name) for name in listed.stdout.split()]


def main():
    folders = collections.defaultdict(dict)
    for path in tracked_sources():
        text = (ROOT / path).read_text(encoding="utf-8")
        folders[path.parent][path.name] = text.count("\n")
    problems = []
    print(f"{'folder':<32} {'files':>5} {'lines':>6} {'median':>6} {'most':>5}")
    for folder, files in sorted(folders.items()):
        lines = list(files.values())
        print(f"{str(folder):<32} {len(files):>5} {sum(lines):>6} "
              f"{int(statistics.median(lines)):>6} {max(lines):>5}")
        if len(files) > FOLDER_FILES:
            problems.append(f"{folder} holds {len(files)} files, over "
                            f"{FOLDER_FILES}: split it")
        problems += [f"{folder / name} has {count} lines, over {HARD_LINES}: "
                     "is there a second concept inside?"
                     for name, count in files.items() if count > HARD_LINES]
    total = [count for files in folders.values() for count in files.values()]
    print(f"{'all':<32} {len(total):>5} {sum(total):>6} "
          f"{int(statistics.median(total)):>6} {max(total):>5}")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
