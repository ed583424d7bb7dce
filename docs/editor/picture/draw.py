"""Draws Neovim with hints as an SVG of its terminal: `draw.py OUT.svg`, with `nvim`, `tmux` and `slvrc` in the PATH."""

import html
import pathlib
import re
import subprocess
import sys
import time

COLUMNS, LINES = 150, 17
WIDTH, HEIGHT = 8.4, 19
HERE = pathlib.Path(__file__).parent


def tmux(*args: str) -> str:
    command = ["tmux", "-L", "slvr-picture", "-f", "/dev/null", *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def screen() -> str:
    nvim = f"nvim --clean -u {HERE / 'init.lua'} -R {HERE / 'kept.slvr'}"
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), nvim)
    try:
        tmux("set", "-g", "default-terminal", "tmux-256color")
        tmux("set", "-g", "status", "off")
        for _ in range(60):
            time.sleep(1)
            text = tmux("capture-pane", "-p")
            if "waits" in text and "reveals" in text:
                break
        time.sleep(1)
        return tmux("capture-pane", "-p", "-e")
    finally:
        tmux("kill-server")


def styled(line: str):
    """Runs of text with their colour, and whether they are slanted or bold."""
    colour, slanted, bold = None, False, False
    for part in re.split(r"(\x1b\[[0-9;:]*m)", line):
        if not part.startswith("\x1b"):
            if part:
                yield part, colour, slanted, bold
            continue
        # Underlines have parts behind colons, and colours of their own.
        codes = [c for c in part[2:-1].split(";") if ":" not in c]
        while codes:
            code = int(codes.pop(0) or 0)
            if code == 0:
                colour, slanted, bold = None, False, False
            elif code == 1:
                bold = True
            elif code == 3:
                slanted = True
            elif code in (22, 23):
                bold, slanted = bold and code != 22, slanted and code != 23
            elif code == 39:
                colour = None
            elif code in (38, 48, 58):
                kind = int(codes.pop(0))
                rest = [int(codes.pop(0)) for _ in range(3 if kind == 2 else 1)]
                if code == 38:
                    colour = "#%02x%02x%02x" % tuple(rest) if kind == 2 else None


def svg(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    width, height = COLUMNS * WIDTH, len(lines) * HEIGHT + 16
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="{width:.0f}" height="{height}" rx="6" fill="#ffffff" stroke="#cccccc"/>',
    ]
    for row, line in enumerate(lines):
        column = 0
        for run, colour, slanted, bold in styled(line):
            if run.strip():
                more = ' font-style="italic"' * slanted + ' font-weight="bold"' * bold
                out.append(
                    f'<text x="{column * WIDTH + 8:.1f}" y="{row * HEIGHT + 22}" xml:space="preserve" '
                    f'textLength="{len(run) * WIDTH:.1f}" fill="{colour or "#222222"}"{more}>'
                    f"{html.escape(run)}</text>"
                )
            column += len(run)
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(svg(screen()))
