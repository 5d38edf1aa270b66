# SPDX-License-Identifier: GPL-2.0-only
"""A terminal for tests: what a program has on its screen, as text and as a picture.

As much of a terminal as curses asks for with TERM=vt100, linux or xterm-256color. What it
doesn't know is an error: a test must not pass because half of a screen was overlooked.
"""

import html
import re

# Of xterm, for a picture on a dark ground.
COLOURS = ("#2e3436", "#ef5350", "#8bc34a", "#fbc02d", "#64b5f6", "#ce93d8", "#4dd0e1", "#d3d7cf")
INK, GROUND = "#e0e0e0", "#1c1f22"

SEQUENCE = re.compile(rb"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|[()](.)|([=>78M])|\](.*?)(?:\x07|\x1b\\))",
                      re.DOTALL)


class Screen:
    """Cells of (character, bold, reversed, colour); the cursor; what else was asked for."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.style = (False, False, None)
        self.row = self.column = 0
        self.cells = [self.blank() for _ in range(rows)]
        self.modes = set() # of the terminal; 1049: its other screen
        self.coloured = False # ever
        self.kept = b"" # a sequence that isn't complete yet
        self.last = " "
        self.top, self.bottom = 0, rows - 1 # what scrolls

    def blank(self):
        """An empty line."""
        return [(" ", False, False, None)] * self.columns

    def resize(self, rows, columns):
        """As terminals do: the program draws it anew."""
        self.__init__(rows, columns)

    def text(self):
        """Lines."""
        return ["".join(cell[0] for cell in line).rstrip() for line in self.cells]

    def feed(self, data):
        """What the program has written."""
        data, self.kept = self.kept + data, b""
        at = 0
        while at < len(data):
            if data[at] == 0x1b:
                match = SEQUENCE.match(data, at)
                if not match:
                    if len(data) - at > 40:
                        raise ValueError(f"not known: {data[at:at + 20]}")
                    self.kept = data[at:]
                    return
                self.sequence(match)
                at = match.end()
            else:
                self.char(chr(data[at]))
                at += 1

    def char(self, char):
        """One, or what moves the cursor."""
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.line_feed()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif char >= " ":
            # At the end of a line the cursor stays until there is more.
            if self.column == self.columns:
                self.column = 0
                self.line_feed()
            self.cells[self.row][self.column] = (char, *self.style)
            self.column += 1
            self.last = char

    def line_feed(self):
        """Scrolls at the end."""
        if self.row == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, self.blank())
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def reverse_line_feed(self):
        """Scrolls at the top."""
        if self.row == self.top:
            del self.cells[self.bottom]
            self.cells.insert(self.top, self.blank())
        else:
            self.row = max(0, self.row - 1)

    def sequence(self, match):
        """What begins with an escape."""
        private, numbers, final, _, short, _ = match.groups()
        if short in (b"7", b"8"):
            raise ValueError("not known: to keep where the cursor is")
        if short == b"M":
            self.reverse_line_feed()
        if final is None:
            return # character sets, the keypad, a title
        values = [int(number) if number else 0 for number in numbers.split(b";")]
        final = final.decode()
        if final in "hl" or private:
            change = self.modes.add if final == "h" else self.modes.discard
            for value in values:
                change((private.decode(), value))
            return
        if final == "m":
            self.sgr(values)
            return
        self.move(final, values, max(1, values[0]))

    def move(self, final, values, n):
        """The cursor, or what is on the screen. @n: of most, how often or how far."""
        line, here = self.cells[self.row], min(self.column, self.columns - 1)
        if final in "Hf":
            self.row = min(n, self.rows) - 1
            self.column = min(max(1, values[1] if len(values) > 1 else 1), self.columns) - 1
        elif final == "A":
            self.row = max(0, self.row - n)
        elif final == "B":
            self.row = min(self.rows - 1, self.row + n)
        elif final == "C":
            self.column = min(self.columns - 1, here + n)
        elif final == "D":
            self.column = max(0, here - n)
        elif final == "G":
            self.column = min(n, self.columns) - 1
        elif final == "d":
            self.row = min(n, self.rows) - 1
        elif final == "J":
            first = 0 if values[0] == 2 else self.row + (here > 0)
            for row in range(first, self.rows):
                self.cells[row] = self.blank()
            if values[0] == 0 and here > 0:
                line[here:] = self.blank()[here:]
        elif final == "K":
            start, end = (0, here + 1) if values[0] == 1 else (here, self.columns)
            line[start:end] = self.blank()[start:end]
        elif final == "X":
            line[here:here + n] = self.blank()[here:here + n]
        elif final == "P":
            line[here:] = (line[here + n:] + self.blank())[:self.columns - here]
        elif final == "@":
            line[here:] = (self.blank()[:n] + line[here:])[:self.columns - here]
        elif final == "b":
            for _ in range(n):
                self.char(self.last)
        elif final == "r":
            self.top = max(1, values[0]) - 1
            self.bottom = (values[1] if len(values) > 1 and values[1] else self.rows) - 1
            self.row = self.column = 0
        elif final in "LM":
            for _ in range(min(n, self.bottom + 1 - self.row)):
                del self.cells[self.row if final == "M" else self.bottom]
                self.cells.insert(self.bottom if final == "M" else self.row, self.blank())
        elif final in "ST":
            for _ in range(min(n, self.bottom + 1 - self.top)):
                del self.cells[self.top if final == "S" else self.bottom]
                self.cells.insert(self.bottom if final == "S" else self.top, self.blank())
        elif final != "t":
            raise ValueError(f"not known: final {final} of {values}")

    def sgr(self, values):
        """How characters look from here on."""
        bold, swapped, colour = self.style
        for value in values:
            if value == 0:
                bold, swapped, colour = False, False, None
            elif value == 1:
                bold = True
            elif value == 22:
                bold = False
            elif value in (7, 27):
                swapped = value == 7
            elif 30 <= value <= 37:
                colour, self.coloured = value - 30, True
            elif value == 39:
                colour = None
            elif value not in (10, 11, 49): # other characters; the ground as it was
                raise ValueError(f"not known: m of {value}")
        self.style = (bold, swapped, colour)

    def svg(self):
        """A picture; text stays text."""
        wide, high, edge = 8.0, 17, 10
        width, height = self.columns * wide + 2 * edge, self.rows * high + 2 * edge
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
               f'width="{width:g}" height="{height:g}" font-family="monospace" font-size="13">',
               f'<rect width="{width:g}" height="{height:g}" rx="5" fill="{GROUND}"/>']
        for y, line in enumerate(self.cells):
            start = 0
            while start < self.columns:
                style = line[start][1:]
                end = start
                while end < self.columns and line[end][1:] == style:
                    end += 1
                text = "".join(cell[0] for cell in line[start:end])
                out += self.run(text, style, edge + start * wide, edge + y * high, wide, high)
                start = end
        return "\n".join(out + ["</svg>", ""])

    @staticmethod
    def run(text, style, x, y, wide, high):
        """Characters of one line that look the same. Each is as wide as the others, whatever
        font there is."""
        bold, swapped, colour = style
        ink = INK if colour is None else COLOURS[colour]
        if swapped:
            yield f'<rect x="{x:g}" y="{y}" width="{len(text) * wide:g}" height="{high}" ' \
                  f'fill="{ink}"/>'
            ink = GROUND
        lead = len(text) - len(text.lstrip())
        text = text.strip()
        if text:
            yield f'<text x="{x + lead * wide:g}" y="{y + 13}" fill="{ink}"' \
                  f'{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""} ' \
                  f'textLength="{len(text) * wide:g}" xml:space="preserve">' \
                  f'{html.escape(text)}</text>'
