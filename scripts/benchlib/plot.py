"""Bars as SVG: groups of horizontal bars, each group to its own scale, with the numbers beside them."""

from html import escape

COLORS = {"meseta": "#1f6fb4", "innodb": "#d9822b", "myrocks": "#7a8288"}
WIDTH = 900
LABELS_WIDTH = 270
NUMBERS_WIDTH = 110
BAR_HEIGHT = 13
GROUP_GAP = 12
HEAD_HEIGHT = 58
MARGIN = 16


def bars(title, unit, groups):
    """The text of an SVG. `groups`: a label each, and the values by name."""
    heights = [len(values) * BAR_HEIGHT + GROUP_GAP for _, values in groups]
    height = HEAD_HEIGHT + sum(heights) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11" fill="#222">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        text(MARGIN, 22, title, 'font-size="15" font-weight="bold"'),
        text(MARGIN, 42, f"{unit}; each group to its own scale", 'fill="#666"'),
        *legend(sorted({name for _, values in groups for name in values}, key=list(COLORS).index)),
    ]
    top = HEAD_HEIGHT
    for (label, values), group_height in zip(groups, heights):
        middle = top + len(values) * BAR_HEIGHT / 2 + 4
        parts.append(text(LABELS_WIDTH - 8, middle, label, 'text-anchor="end"'))
        most = max(values.values()) or 1
        for at, (name, value) in enumerate(values.items()):
            parts.extend(bar(top + at * BAR_HEIGHT, name, value, most))
        top += group_height
    return "\n".join([*parts, "</svg>", ""])


def bar(top, name, value, most):
    length = (WIDTH - LABELS_WIDTH - NUMBERS_WIDTH - MARGIN) * value / most
    yield (f'<rect x="{LABELS_WIDTH}" y="{top + 1}" width="{length:.1f}" height="{BAR_HEIGHT - 2}" '
           f'fill="{COLORS[name]}"/>')
    yield text(LABELS_WIDTH + length + 5, top + BAR_HEIGHT - 3, number(value))


def legend(names):
    for at, name in enumerate(names):
        left = WIDTH - MARGIN - 90 * (len(names) - at)
        yield f'<rect x="{left}" y="13" width="11" height="11" fill="{COLORS[name]}"/>'
        yield text(left + 16, 22, name)


def number(value):
    return f"{value:,.0f}" if 100 <= value else f"{value:.3g}"


def text(left, base, words, more=""):
    return f'<text x="{left:.1f}" y="{base:.1f}" {more}>{escape(words)}</text>'
