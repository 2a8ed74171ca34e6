"""The page in a browser: it opens quietly, shows its figures, and answers pointer and keys."""

import dataclasses
import os
import re
import shutil

import pytest

from leaven.report import render_report

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = os.environ.get("LEAVEN_CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="needs Chromium: install it, or name it in LEAVEN_CHROMIUM"
)
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(rich_result, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render_report(rich_result, title="orchard.csv"), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def open_page(browser, address):
    contexts = []

    def open_(url=address, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url)
        return page

    yield open_
    for context in contexts:
        context.close()


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1200, "dark")])
def test_opens_quietly_and_shows_the_figures(open_page, address, width, scheme):
    page = open_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.said == []
    assert page.asked == [address]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for section in ("methods", "curve", "confidence", "columns", "python"):
        page.locator(f"#{section} > details > summary").click()
    for figure in ("methods", "curve", "confidence", "map"):
        box = page.locator(f"#{figure}-svg").bounding_box()
        assert box["width"] > 0.7 * min(width, 860)
        assert box["height"] > 100
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")
    # With the details open nothing sticks out either, in any figure or table.
    for summary in page.locator("details:not(.fold) > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = page.evaluate(
        """() => Array.from(document.querySelectorAll("main > * > *, figure > *, svg text"))
            .filter((e) => !e.closest(".scroll"))
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 ||
                           e.getBoundingClientRect().left < -1)
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []


def test_pointer_shows_the_row(open_page, rich_result):
    page = open_page(viewport={"width": 900, "height": 800})
    tip = page.locator("#tip")
    assert not tip.is_visible()
    page.locator("#map").scroll_into_view_if_needed()
    mark = page.locator("#map-svg use.large").nth(2)
    page.mouse.move(*middle(mark))
    assert tip.is_visible()
    words = tip.inner_text()
    row = int(re.match(r"Row (\d+): ", words)[1]) - 1
    shown = rich_result.table.iloc[row]
    assert words.startswith(f"Row {row + 1}: {shown['variety_predicted']} (label given)\n")
    assert f"site: {shown['site']}" in words
    box, frame = tip.bounding_box(), page.locator("#map").bounding_box()
    assert frame["x"] <= box["x"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    page.mouse.move(frame["x"] + 3, frame["y"] - 20)
    assert not tip.is_visible()
    assert page.said == []


def test_finger_shows_the_row(open_page):
    page = open_page(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page.locator("#map").scroll_into_view_if_needed()
    x, y = middle(page.locator("#map-svg use.small").nth(100))
    page.touchscreen.tap(x + 4, y + 4)
    assert re.match(r"Row \d+: \w+", page.locator("#tip").inner_text())
    assert page.locator("#tip").is_visible()


def test_keys_go_from_row_to_row(open_page):
    page = open_page()
    page.locator("#ask .scroll").focus()
    page.keyboard.press("Shift+Tab")  # the heading, which folds the section
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "map"
    tip = page.locator("#tip")
    assert tip.is_visible()
    first, left = tip.inner_text(), page.locator("#ring").bounding_box()["x"]
    page.keyboard.press("ArrowLeft")
    assert tip.inner_text() != first
    assert page.locator("#ring").bounding_box()["x"] < left
    assert page.locator("#said").inner_text() == tip.inner_text().replace("\n", " ")
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_long_words_do_not_widen_the_page(open_page, rich_result, tmp_path):
    word = "x" * 300
    table = rich_result.table.assign(id=word, site=word)
    summary = rich_result.summary
    summary = dataclasses.replace(
        summary,
        target="variety",
        method=word,
        classes=[dataclasses.replace(each, name=f"{each.name}{word}") for each in summary.classes],
        columns={word: "number", **summary.columns},
        dropped={word: word},
        notes=[word],
    )
    candidates = rich_result.selection.candidates.assign(reason=word)
    selection = dataclasses.replace(rich_result.selection, candidates=candidates, reason=word)
    result = dataclasses.replace(rich_result, table=table, summary=summary, selection=selection)
    file = tmp_path / "long.html"
    file.write_text(render_report(result, title=word), encoding="utf-8")
    page = open_page(file.as_uri(), viewport={"width": 400, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_without_a_script_it_is_a_picture_with_titles(open_page, rich_result):
    page = open_page(java_script_enabled=False, viewport={"width": 400, "height": 800})
    marks = page.locator("#map-svg use")
    assert marks.count() == len(rich_result.table)
    title = page.locator("#map-svg use title").first.text_content()
    assert re.match(r"Row \d+: ", title)
    assert marks.first.bounding_box()["width"] > 3


def test_no_script_of_a_cell_runs(open_page, rich_result, tmp_path):
    # Were the escaping broken, the policy of the page would still stop the script.
    text = render_report(rich_result).replace(
        "<main>", "<main><script>document.title = 'run'</script><img src=x onerror=alert(1)>"
    )
    file = tmp_path / "broken.html"
    file.write_text(text, encoding="utf-8")
    page = open_page(file.as_uri())
    assert page.title() == "Labeled table"
    assert any("Content Security Policy" in message for message in page.said)


def test_paper_is_light(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    # What is folded on the screen is open on paper.
    assert page.locator("#methods details table").bounding_box()["height"] > 100


def test_how_the_answer_came_about_is_folded_away(open_page):
    page = open_page()
    assert page.locator("#lead").is_visible()
    for section in ("shares", "map-section", "ask", "hardest"):
        assert page.locator(f"#{section} > details").get_attribute("open") is not None
    for section in ("methods", "curve", "confidence", "columns", "python"):
        assert page.locator(f"#{section} h2").is_visible()
        content = page.locator(f"#{section} > details > :not(summary)").first
        assert not content.is_visible()
        page.locator(f"#{section} > details > summary").click()
        assert content.is_visible()
