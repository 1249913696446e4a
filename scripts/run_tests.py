#!/usr/bin/env python3
"""Runs the tests of a build folder and counts them.

    scripts/run_tests.py [PRESET] [-- CTEST ARGUMENTS]

Each test program writes its cases as XML (cmake/library.cmake). Programs that
write none, or die before, count as one case. The last line is
`N passed, N failed`; the exit code is 1 if any failed or none ran.
"""
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_ctest(build, arguments):
    """Runs ctest; returns {test name: (passed, output)}."""
    report = build / "test-results" / "ctest.xml"
    subprocess.run(
        ["ctest", "-j2", "--output-junit", str(report), *arguments],
        cwd=build, check=False, stdout=sys.stderr)
    if not report.exists():
        return {}
    programs = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.get("status") in ("notrun", "disabled"):
            continue
        output = case.findtext("system-out") or ""
        programs[case.get("name")] = (case.get("status") == "run", output)
    return programs


def read_cases(file):
    """(passed, [(case, message)]) of one program's XML."""
    passed, failures = 0, []
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        failure = case.find("failure")
        if failure is not None:
            name = f"{case.get('classname')}.{case.get('name')}"
            failures.append((name, failure.get("message") or failure.text))
        elif case.get("result", "completed") == "completed":
            passed += 1
    return passed, failures


def count(build, programs):
    """Totals over all programs; prints what failed."""
    passed = failed = 0
    for name, (sound, output) in sorted(programs.items()):
        file = build / "test-results" / f"{name}.xml"
        failures = []
        if file.exists():
            good, failures = read_cases(file)
            passed += good
        elif sound:
            passed += 1
        for case, message in failures:
            print(f"FAILED {name}: {case}\n{message}\n")
        failed += len(failures)
        if not sound and not failures:
            print(f"FAILED {name}: the program itself\n{output[-4000:]}\n")
            failed += 1
    return passed, failed


def main():
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        split = arguments.index("--")
        arguments, extra = arguments[:split], arguments[split + 1:]
    build = ROOT / "build" / (arguments[0] if arguments else "release")
    if not (build / "CTestTestfile.cmake").exists():
        sys.exit(f"{build} has no tests: build it first (make)")
    shutil.rmtree(build / "test-results", ignore_errors=True)
    (build / "test-results").mkdir()
    passed, failed = count(build, run_ctest(build, extra))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
