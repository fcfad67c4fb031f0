"""Rules of WCAG 2.2 (AA) that a script can check, as axe has them: what breaks them on a page."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# The contrast of text with what is behind it, and of what is behind white text of buttons under the pointer.
_CONTRAST = """
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const pixel = colours => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
        }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = ([...parts]) => parts.map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
    const known = new Map();
    const contrast = element => {
        const behind = [];
        for (let each = element; each; each = each.parentElement)
            behind.unshift(getComputedStyle(each).backgroundColor);
        behind.unshift("Canvas");
        const colours = [...behind, getComputedStyle(element).color];
        const key = colours.join();
        if (!known.has(key)) {
            const [paper, ink] = [behind, colours].map(pixel).map(light);
            known.set(key, (Math.max(paper, ink) + 0.05) / (Math.min(paper, ink) + 0.05));
        }
        return known.get(key);
    };
    const weak = element => {
        const style = getComputedStyle(element), size = parseFloat(style.fontSize);
        const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        return contrast(element) < (isLarge ? 3 : 4.5);
    };
    const shown = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
    const name = element => `${element.outerHTML.slice(0, 100)} (${contrast(element).toFixed(1)})`;
"""
_BROKEN = f"""() => {{
    {_CONTRAST}
    const all = selector => [...document.querySelectorAll(selector)].filter(shown);
    const broken = [];
    if (all("main").length !== 1) broken.push("has no single main landmark");
    if (all("h1").length !== 1) broken.push("has no single first heading");
    const target = document.querySelector(document.querySelector("a[href^='#']").getAttribute("href"));
    if (!target) broken.push("has no target of its first link");
    for (const element of all("th"))
        if (!element.textContent.trim() && !element.querySelector("[aria-label]"))
            broken.push("has a column without a name");
    for (const element of all("input, select, textarea"))
        if (!element.labels.length && !element.ariaLabel && !element.placeholder)
            broken.push(`has no label of ${{name(element)}}`);
    for (const element of all("a[href], button")) {{
        if (!element.innerText.trim() && !element.ariaLabel && !element.querySelector("[title]"))
            broken.push(`has no name of ${{name(element)}}`);
        const within = element.closest("p, .leading-relaxed, .crumbs");
        const line = getComputedStyle(element).textDecorationLine;
        if (within && !element.matches("button, .button") && line !== "underline")
            broken.push(`shows only by its colour ${{name(element)}}`);
    }}
    for (const element of all("body *")) {{
        const text = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        const unread = element.closest("style, script, option, .sr-only, .material-symbols-outlined");
        if (text && !unread && weak(element))
            broken.push(`is hard to read: ${{name(element)}}`);
    }}
    return broken;
}}"""
_HARD_TO_READ = f"element => {{ {_CONTRAST} return weak(element) ? name(element) : null; }}"
BUTTONS = "button, a.bg-primary-600:not(.addlink)"


def broken_rules(page: "Page") -> list[str]:
    """Return the rules that a page breaks, also while the pointer is on one of its buttons."""
    broken: list[str] = page.evaluate(_BROKEN)
    looks = set[str | None]()
    for button in page.locator(BUTTONS).all():
        # Buttons of the same classes look the same.
        look = button.get_attribute("class")
        if look not in looks and button.is_visible() and button.is_enabled():
            looks.add(look)
            button.hover()
            if found := button.evaluate(_HARD_TO_READ):
                broken.append(f"is hard to read under the pointer: {found}")
    return broken
